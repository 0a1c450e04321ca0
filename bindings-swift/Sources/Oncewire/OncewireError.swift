// The error of a call, on two axes: the case says what to do next, `kind` says what happened.

import Foundation

/// Why a call gave no result.
///
/// `errorDescription` is written for a person and for a model: what happened, whether it ran, what to do. As `Codable` an error is one flat
/// JSON object, the same in every language.
public enum OncewireError: Error, Sendable, Hashable {
    /// Proven: the server did not run it. Calling again is safe.
    case notExecuted(Failure)
    /// It may have run. Verify before calling again.
    case mayHaveExecuted(Failure)
    /// The server answered with an error, which says nothing of effects: it may have been raised after one.
    case answered(RpcFailure)

    /// Whether the server ran the call.
    public var execution: Execution {
        switch self {
        case .notExecuted: .notExecuted
        case .mayHaveExecuted: .mayHaveExecuted
        case .answered: .answered
        }
    }

    /// What went wrong.
    public var kind: Kind {
        switch self {
        case .notExecuted(let failure), .mayHaveExecuted(let failure): failure.kind
        case .answered(let failure): failure.kind
        }
    }

    /// Why the call is known not to have run.
    public var proof: Proof? { failure?.proof }

    /// What that rests on.
    public var proofBasis: ProofBasis? { failure?.proofBasis }

    /// Every attempt of the call, in order.
    public var attempts: [Attempt] { json["attempts"]?.arrayValue?.map(Attempt.init(json:)) ?? [] }

    /// The failure, unless the server answered.
    public var failure: Failure? {
        switch self {
        case .notExecuted(let failure), .mayHaveExecuted(let failure): failure
        case .answered: nil
        }
    }

    /// Every field, as one JSON object.
    public var json: JSONValue {
        switch self {
        case .notExecuted(let failure), .mayHaveExecuted(let failure): failure.json
        case .answered(let failure): failure.json
        }
    }

    /// From the object of the core. What does not say that it did not run may have run.
    init(json: JSONValue) {
        switch json["execution"]?.stringValue.flatMap(Execution.init(rawValue:)) {
        case .notExecuted: self = .notExecuted(Failure(json: json))
        case .answered: self = .answered(RpcFailure(json: json))
        case .mayHaveExecuted, nil: self = .mayHaveExecuted(Failure(json: json))
        }
    }
}

extension OncewireError: LocalizedError, CustomStringConvertible {
    public var errorDescription: String? { description }
    public var description: String { json["text"]?.stringValue ?? json.description }
}

extension OncewireError: Codable {
    public init(from decoder: any Decoder) throws {
        let json = try JSONValue(from: decoder)
        guard json["execution"]?.stringValue.flatMap(Execution.init(rawValue:)) != nil else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "not an error of oncewire"))
        }
        self.init(json: json)
    }

    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// A call that was not answered.
public struct Failure: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// What went wrong.
    public var kind: Kind { Kind(rawValue: json["kind"]?.stringValue ?? "") }
    /// Whether the server ran it.
    public var execution: Execution { json["execution"]?.stringValue.flatMap(Execution.init(rawValue:)) ?? .mayHaveExecuted }
    /// Why it is known not to have run; only with `notExecuted`.
    public var proof: Proof? { json["proof"]?.stringValue.map(Proof.init(rawValue:)) }
    /// What that rests on; there exactly if `proof` is.
    public var proofBasis: ProofBasis? { json["proof_basis"]?.stringValue.map(ProofBasis.init(rawValue:)) }
    /// The method of the call, for example `tools/call`.
    public var method: String { json["method"]?.stringValue ?? "" }
    /// The tool, prompt or URI that was called.
    public var name: String? { json["name"]?.stringValue }
    /// Where the call was when it failed.
    public var phase: Phase { Phase(rawValue: json["phase"]?.stringValue ?? "") }
    /// The status of the last answer, if its head arrived.
    public var httpStatus: Int? { json["http_status"]?.intValue }
    /// How long the server asked to wait.
    public var retryAfter: Duration? { json["retry_after_seconds"]?.doubleValue.map { .seconds($0) } }
    /// The key under which the server saw all attempts of this call.
    public var idempotencyKey: String? { json["idempotency_key"]?.stringValue }
    /// The generation of the session that carried the last attempt.
    public var generation: Int? { json["generation"]?.intValue }
    /// Every attempt, in order.
    public var attempts: [Attempt] { json["attempts"]?.arrayValue?.map(Attempt.init(json:)) ?? [] }
    /// What happened, in words; holds no secret.
    public var reason: String { json["reason"]?.stringValue ?? "" }
    /// The beginning of an answer that was none, for example a gateway's HTML page.
    public var excerpt: String? { json["excerpt"]?.stringValue }
}

/// A call that the server answered with a JSON-RPC error, or with a result that is none: a string, an array, null, where the method gives
/// an object.
public struct RpcFailure: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The code of the JSON-RPC error; 0 if there is none that can be read, and for a result that is none.
    public var code: Int { json["code"]?.intValue ?? 0 }
    /// Its message, as the server sent it, but that `[redacted]` takes the place of what the client had sent as secret.
    public var message: String { json["message"]?.stringValue ?? "" }
    /// Its data, as the server sent it, but for the same; of a result that is none, the result.
    public var data: JSONValue? { json["data"] }
    /// The status of the answer.
    public var httpStatus: Int? { json["http_status"]?.intValue }
    /// What went wrong: `rpc`, or `protocol` for a result that is none.
    public var kind: Kind { Kind(rawValue: json["kind"]?.stringValue ?? "") }
    /// Always `answered`.
    public var execution: Execution { .answered }
    /// The method of the call.
    public var method: String { json["method"]?.stringValue ?? "" }
    /// The tool, prompt or URI that was called.
    public var name: String? { json["name"]?.stringValue }
    /// The key under which the server saw all attempts of this call.
    public var idempotencyKey: String? { json["idempotency_key"]?.stringValue }
    /// Every attempt, in order.
    public var attempts: [Attempt] { json["attempts"]?.arrayValue?.map(Attempt.init(json:)) ?? [] }
}

/// One HTTP request that tried to carry out a call, and what is known of it.
public struct Attempt: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// The JSON-RPC id; no two attempts of a client share one.
    public var id: Int { json["id"]?.intValue ?? 0 }
    /// The generation of the session that carried it.
    public var generation: Int? { json["generation"]?.intValue }
    /// What went wrong; nil for an attempt that was answered with a result.
    public var kind: Kind? { json["kind"]?.stringValue.map(Kind.init(rawValue:)) }
    /// The verdict on this attempt alone.
    public var execution: Execution { json["execution"]?.stringValue.flatMap(Execution.init(rawValue:)) ?? .mayHaveExecuted }
    /// Why this attempt was not executed.
    public var proof: Proof? { json["proof"]?.stringValue.map(Proof.init(rawValue:)) }
    /// What that rests on; there exactly if `proof` is.
    public var proofBasis: ProofBasis? { json["proof_basis"]?.stringValue.map(ProofBasis.init(rawValue:)) }
    /// Where it failed.
    public var phase: Phase { Phase(rawValue: json["phase"]?.stringValue ?? "") }
    /// The status of the answer, if its head arrived.
    public var httpStatus: Int? { json["http_status"]?.intValue }
    /// When it started.
    public var started: Date { Date(timeIntervalSince1970: (json["started_ms"]?.doubleValue ?? 0) / 1000) }
    /// How long it took.
    public var elapsed: Duration { .milliseconds(json["elapsed_ms"]?.intValue ?? 0) }
    /// Evidence: the head of an answer had arrived.
    public var responseStarted: Bool { json["response_started"]?.boolValue ?? false }
    /// Evidence: a progress notification of this attempt, or a request that it made of us, had arrived, so it was running.
    public var progressSeen: Bool { json["progress_seen"]?.boolValue ?? false }
}
