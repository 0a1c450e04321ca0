// The options of a vector, under their Rust names, with durations in milliseconds. An option that is not known here fails the test.

import Foundation
import Oncewire

extension CallOptions {
    init(json: JSONValue) {
        self.init(
            timeout: json["timeout"]?.milliseconds, idleTimeout: json["idle_timeout"]?.milliseconds,
            resetOnProgress: json["reset_on_progress"]?.boolValue, maxTotalTimeout: json["max_total_timeout"]?.milliseconds,
            resend: json["resend"]?.stringValue.flatMap(Resend.init(rawValue:)))
    }
}

extension ClientOptions {
    init(json: JSONValue) throws {
        self.init()
        for (name, value) in json.objectValue ?? [:] where !value.isNull {
            switch name {
            case "timeout": timeout = value.milliseconds
            case "idle_timeout": idleTimeout = value.milliseconds
            case "reset_on_progress": resetOnProgress = value.boolValue
            case "max_total_timeout": maxTotalTimeout = value.milliseconds
            case "orphan_timeout": orphanTimeout = value.milliseconds
            case "connect_timeout": connectTimeout = value.milliseconds
            case "connect_patience": connectPatience = value.milliseconds
            case "handshake_timeout": handshakeTimeout = value.milliseconds
            case "close_timeout": closeTimeout = value.milliseconds
            case "retry_after_max": retryAfterMax = value.milliseconds
            case "max_message": maxMessage = value.intValue
            case "max_event": maxEvent = value.intValue
            case "max_pages": maxPages = value.intValue
            case "pool_idle_timeout": poolIdleTimeout = value.milliseconds
            case "fresh_connection": freshConnection = value.boolValue
            case "http2_only": httpVersion = value.boolValue == true ? .http2 : nil
            case "trust_annotations": trustAnnotations = try word(value)
            case "resend": resend = try word(value)
            case "recovery": recovery = try word(value)
            case "era": era = try word(value)
            case "extensions": extensions = value.objectValue
            case "cache": cache = value.boolValue
            case "cookies": cookies = value.boolValue
            case "lazy": lazy = value.boolValue
            case "idempotency_keys": idempotencyKeys = value.boolValue
            case "tools": toolOptions = (value.objectValue ?? [:]).mapValues(CallOptions.init(json:))
            case "headers": headers = (value.objectValue ?? [:]).compactMapValues(\.stringValue)
            case "handlers": handlers(value)
            // The run makes its provider.
            case "tokens": break
            default: throw Trouble("the runner does not know the option \(name)")
            }
        }
    }

    private mutating func handlers(_ json: JSONValue) {
        let takes = json["takes_ms"]?.milliseconds ?? .zero
        func canned(_ name: String) -> RequestHandler? {
            guard let answer = json[name], !answer.isNull else { return nil }
            return { _ in
                try await Task.sleep(for: takes)
                if let text = answer["$fails"]?.stringValue { throw Trouble(text) }
                return answer
            }
        }
        onSampling = canned("sampling")
        onElicitation = canned("elicitation")
        onRoots = canned("roots")
    }
}

private func word<T: RawRepresentable>(_ value: JSONValue) throws -> T where T.RawValue == String {
    guard let word = value.stringValue.flatMap(T.init(rawValue:)) else { throw Trouble("\(value) is no word of \(T.self)") }
    return word
}

extension JSONValue {
    var milliseconds: Duration? { intValue.map { .milliseconds($0) } }
}
