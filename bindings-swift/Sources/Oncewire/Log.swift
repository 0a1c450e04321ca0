// Log lines of the core: to the unified log on Apple platforms, to a closure everywhere.

import Foundation
internal import OncewireNative

#if canImport(os)
    import os
#endif

/// One line.
public struct LogRecord: Sendable, Hashable {
    public enum Level: Int, Sendable, Hashable, Comparable, CaseIterable {
        case error, warn, info, debug, trace
        public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    public let level: Level
    /// The part of oncewire that wrote it.
    public let target: String
    /// What it says, field by field; the same fields as those of an event.
    public let fields: [String: JSONValue]

    /// `event=attempt_failed kind=timeout …`
    public var text: String {
        fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.stringValue ?? $0.value.description)" }.joined(separator: " ")
    }
}

/// Where the log lines of this process go. One place for all clients; on Apple platforms it is the unified log (subsystem `dev.oncewire`)
/// unless something else is said.
public enum Log {
    /// Gives lines up to this level to a closure, which must not block.
    public static func use(upTo level: LogRecord.Level = .info, _ sink: @escaping @Sendable (LogRecord) -> Void) {
        chosen.withLock { $0 = true }
        setLogSink(sink: LogHook(sink), level: level.native)
    }

    /// No lines any more.
    public static func off() {
        chosen.withLock { $0 = true }
        setLogSink(sink: nil, level: .error)
    }

    private static let chosen = Locked(false)

    /// The unified log, where there is one and nothing was chosen.
    static func useDefault() {
        #if canImport(os)
            let first = chosen.withLock { chosen in
                defer { chosen = true }
                return !chosen
            }
            guard first else { return }
            let logger = Logger(subsystem: "dev.oncewire", category: "client")
            let sink = LogHook { record in
                let type: OSLogType =
                    switch record.level {
                    case .error: .error
                    case .warn: .default
                    case .info: .info
                    case .debug, .trace: .debug
                    }
                // No line of the core holds a secret.
                logger.log(level: type, "\(record.text, privacy: .public)")
            }
            // Not the lines of every call: each would be made into text, and the unified log drops them unless it is asked for them.
            setLogSink(sink: sink, level: .info)
        #endif
    }
}

extension LogRecord.Level {
    var native: LogLevel {
        switch self {
        case .error: .error
        case .warn: .warn
        case .info: .info
        case .debug: .debug
        case .trace: .trace
        }
    }

    init(_ native: LogLevel) {
        switch native {
        case .error: self = .error
        case .warn: self = .warn
        case .info: self = .info
        case .debug: self = .debug
        case .trace: self = .trace
        }
    }
}

private final class LogHook: LogSink {
    let sink: @Sendable (LogRecord) -> Void
    init(_ sink: @escaping @Sendable (LogRecord) -> Void) { self.sink = sink }
    func log(level: LogLevel, target: String, fields: String) {
        sink(LogRecord(level: .init(level), target: target, fields: JSONValue(core: fields).objectValue ?? [:]))
    }
}

/// A value behind a lock.
final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value
    init(_ value: Value) { self.value = value }
    func withLock<T>(_ body: (inout Value) -> T) -> T {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
