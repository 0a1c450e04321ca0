// The words of the verdict, the same in logs, events and errors of every language.

/// Whether the server ran a call.
public enum Execution: String, Sendable, Hashable, Codable, CaseIterable {
    /// Proven: it did not. Calling again is safe.
    case notExecuted = "not_executed"
    /// No proof. Verify before calling again.
    case mayHaveExecuted = "may_have_executed"
    /// It answered.
    case answered
}

/// A word of an open list: later versions may bring more.
public protocol Word: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible where RawValue == String {
    init(rawValue: String)
}

extension Word {
    public var description: String { rawValue }
}

/// What went wrong.
public struct Kind: Word {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let connect = Kind(rawValue: "connect")
    public static let connectionClosed = Kind(rawValue: "connection_closed")
    public static let streamEnded = Kind(rawValue: "stream_ended")
    public static let timeout = Kind(rawValue: "timeout")
    public static let sessionLost = Kind(rawValue: "session_lost")
    public static let recoveryFailed = Kind(rawValue: "recovery_failed")
    public static let gateway = Kind(rawValue: "gateway")
    public static let httpStatus = Kind(rawValue: "http_status")
    public static let rateLimited = Kind(rawValue: "rate_limited")
    public static let auth = Kind(rawValue: "auth")
    public static let redirect = Kind(rawValue: "redirect")
    /// Named `protocol` in JSON.
    public static let protocolViolation = Kind(rawValue: "protocol")
    public static let tooLarge = Kind(rawValue: "too_large")
    public static let cancelled = Kind(rawValue: "cancelled")
    public static let closed = Kind(rawValue: "closed")
    public static let config = Kind(rawValue: "config")
    public static let rpc = Kind(rawValue: "rpc")
}

/// Why a call is known not to have run.
public struct Proof: Word {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let neverSent = Proof(rawValue: "never_sent")
    public static let sessionRejected = Proof(rawValue: "session_rejected")
    public static let unauthorized = Proof(rawValue: "unauthorized")
    public static let refusedStream = Proof(rawValue: "refused_stream")
    public static let rejected = Proof(rawValue: "rejected")
    public static let rateLimited = Proof(rawValue: "rate_limited")
}

/// What a proof rests on.
public struct ProofBasis: Word {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// It cannot be otherwise.
    public static let certain = ProofBasis(rawValue: "certain")
    /// A harmless request of the same session and identity was refused in the same words.
    public static let confirmed = ProofBasis(rawValue: "confirmed")
    /// A challenge that only the client's own login can have caused.
    public static let `protocol` = ProofBasis(rawValue: "protocol")
}

/// Where a call was when it failed.
public struct Phase: Word {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let queued = Phase(rawValue: "queued")
    public static let connecting = Phase(rawValue: "connecting")
    public static let sending = Phase(rawValue: "sending")
    public static let awaitingHeaders = Phase(rawValue: "awaiting_headers")
    public static let streaming = Phase(rawValue: "streaming")
    public static let resuming = Phase(rawValue: "resuming")
}
