// What happens inside a client.

import Foundation

/// What happened.
public struct EventName: Word {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let connecting = EventName(rawValue: "connecting")
    public static let ready = EventName(rawValue: "ready")
    public static let sessionLost = EventName(rawValue: "session_lost")
    public static let sessionSuspect = EventName(rawValue: "session_suspect")
    public static let recovering = EventName(rawValue: "recovering")
    public static let connectFailed = EventName(rawValue: "connect_failed")
    public static let sessionReplaced = EventName(rawValue: "session_replaced")
    public static let recoveryFailed = EventName(rawValue: "recovery_failed")
    public static let attemptFailed = EventName(rawValue: "attempt_failed")
    public static let resuming = EventName(rawValue: "resuming")
    public static let resumed = EventName(rawValue: "resumed")
    public static let listenerOn = EventName(rawValue: "listener_on")
    public static let listenerOff = EventName(rawValue: "listener_off")
    public static let restoreFailed = EventName(rawValue: "restore_failed")
    public static let toolDropped = EventName(rawValue: "tool_dropped")
    public static let messageDropped = EventName(rawValue: "message_dropped")
    public static let serverStderr = EventName(rawValue: "server_stderr")
    public static let loginNeeded = EventName(rawValue: "login_needed")
    public static let loginDone = EventName(rawValue: "login_done")
    public static let tokenRefreshed = EventName(rawValue: "token_refreshed")
    public static let loginLost = EventName(rawValue: "login_lost")
    public static let callFinished = EventName(rawValue: "call_finished")
    public static let closed = EventName(rawValue: "closed")
}

/// One event; fields that do not apply are nil. No event holds a secret.
public struct Event: JSONBacked {
    public let json: JSONValue
    public init(json: JSONValue) { self.json = json }

    /// What happened.
    public var event: EventName { EventName(rawValue: json["event"]?.stringValue ?? "") }
    /// When.
    public var at: Date { Date(timeIntervalSince1970: (json["at_ms"]?.doubleValue ?? 0) / 1000) }
    /// Which server: the origin and path of its URL. A part of the path that looks like a key is `[redacted]`.
    public var server: String? { json["server"]?.stringValue }
    /// The generation of the session.
    public var generation: Int? { json["generation"]?.intValue }
    /// The method of the call.
    public var method: String? { json["method"]?.stringValue }
    /// The tool, prompt or URI of the call.
    public var name: String? { json["name"]?.stringValue }
    /// The key of the call.
    public var idempotencyKey: String? { json["idempotency_key"]?.stringValue }
    /// The JSON-RPC id of the attempt.
    public var requestId: Int? { json["request_id"]?.intValue }
    /// Which attempt of the call, from 1; in `callFinished`, how many there were.
    public var attempt: Int? { json["attempt"]?.intValue }
    /// What went wrong.
    public var kind: Kind? { json["kind"]?.stringValue.map(Kind.init(rawValue:)) }
    /// Why it is certain that the attempt, or the call, did not run.
    public var proof: Proof? { json["proof"]?.stringValue.map(Proof.init(rawValue:)) }
    /// The verdict on the attempt, or on the call.
    public var execution: Execution? { json["execution"]?.stringValue.flatMap(Execution.init(rawValue:)) }
    /// What is done about it.
    public var decision: String? { json["decision"]?.stringValue }
    /// How long the decision waits first.
    public var delay: Duration? { json["delay_ms"]?.intValue.map { .milliseconds($0) } }
    /// The status of the answer.
    public var httpStatus: Int? { json["http_status"]?.intValue }
    /// Where a person logs in, with `loginNeeded`. Whoever opens it logs in for this client: show it to that person alone.
    public var url: String? { json["url"]?.stringValue }
    /// More, in words.
    public var reason: String? { json["reason"]?.stringValue }
}

/// One progress notification of a call.
public struct ProgressUpdate: Sendable, Hashable {
    /// How far it is.
    public let progress: Double
    /// How far it will go, if known.
    public let total: Double?
    /// In words.
    public let message: String?
}

/// A notification of the server.
public struct ServerNotification: Sendable, Hashable {
    /// The method, as on the wire.
    public let method: String
    /// The params; null if there were none.
    public let params: JSONValue
    /// The generation of the session that it came on.
    public let generation: Int
}
