// The caller's closures, as the core calls them.

import Foundation
internal import OncewireNative

/// The text of an error that goes to the core, and from there perhaps to a server or a log: what its author wrote for people, else the
/// name of its type. Never a dump of it, which could hold a secret.
private func words(of error: any Error) -> String {
    (error as? any LocalizedError)?.errorDescription ?? "\(type(of: error))"
}

/// A closure of the caller: each question is a task, and whatever it throws becomes the text of its failure.
final class AsyncHook: Hook {
    private let answer: @Sendable (String?) async throws -> String

    init(_ answer: @escaping @Sendable (String?) async throws -> String) { self.answer = answer }

    convenience init(headers provider: @escaping HeaderProvider) {
        self.init { _ in JSONValue.object(try await provider().mapValues(JSONValue.string)).jsonText }
    }

    convenience init(handler: @escaping RequestHandler) {
        self.init { try await handler(JSONValue(core: $0 ?? "null")).jsonText }
    }

    convenience init(oauth: OAuth) {
        self.init { try await oauth.answer(JSONValue(core: $0 ?? "null")).jsonText }
    }

    func ask(question: String?, reply: Reply) -> any HookTask {
        Running(
            task: Task { [answer] in
                do {
                    reply.give(answer: try await answer(question))
                } catch {
                    reply.fail(reason: words(of: error))
                }
            })
    }

    private final class Running: HookTask {
        private let task: Task<Void, Never>
        init(task: Task<Void, Never>) { self.task = task }
        func cancel() { task.cancel() }
    }
}

final class NotificationHook: OncewireNative.NotificationSink {
    let sink: @Sendable (ServerNotification) -> Void
    init(_ sink: @escaping @Sendable (ServerNotification) -> Void) { self.sink = sink }
    func notification(method: String, params: String, generation: UInt64) {
        sink(ServerNotification(method: method, params: JSONValue(core: params), generation: Int(clamping: generation)))
    }
}

final class EventHook: OncewireNative.EventSink {
    let sink: @Sendable (Event) -> Void
    init(_ sink: @escaping @Sendable (Event) -> Void) { self.sink = sink }
    func event(json: String) { sink(Event(json: JSONValue(core: json))) }
}

final class ProgressHook: OncewireNative.ProgressSink {
    let sink: @Sendable (ProgressUpdate) -> Void
    init(_ sink: @escaping @Sendable (ProgressUpdate) -> Void) { self.sink = sink }
    func progress(progress: Double, total: Double?, message: String?) {
        sink(ProgressUpdate(progress: progress, total: total, message: message))
    }
}

extension JSONValue {
    /// JSON that the core gave, which is JSON; should it not be, it is kept as it came.
    init(core text: String) {
        self = (try? JSONValue(jsonText: text)) ?? .raw(text)
    }
}
