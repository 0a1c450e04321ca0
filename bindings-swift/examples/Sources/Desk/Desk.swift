// What both programs do: call a tool, and say in words what came of it.

import Oncewire

/// What came of a call, and what to do next.
public struct Outcome: Sendable {
    public enum Next: String, Sendable {
        /// There is a result.
        case done = "done"
        /// It did not run: calling again is safe.
        case repeatIt = "safe to call again"
        /// It may have run: look before calling again.
        case verifyFirst = "verify before calling again"
        /// The server said no.
        case readTheAnswer = "the server answered with an error"
        /// Cancelled by the user; whether it ran is in the event `call_finished`.
        case cancelled = "cancelled"
    }

    public let next: Next
    public let text: String
}

/// Calls a tool. Nothing is thrown: each way that a call can end has its own next step, and the error says which.
public func call(_ client: Client, tool: String, arguments: JSONValue?, onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil) async -> Outcome {
    do {
        let result = try await client.callTool(name: tool, arguments: arguments, onProgress: onProgress)
        let text = result.text.isEmpty ? result.json.description : result.text
        return Outcome(next: .done, text: result.isError ? "the tool failed: \(text)" : text)
    } catch let error as OncewireError {
        let next: Outcome.Next =
            switch error {
            case .notExecuted: .repeatIt
            case .mayHaveExecuted: .verifyFirst
            case .answered: .readTheAnswer
            }
        return Outcome(next: next, text: error.localizedDescription)
    } catch {
        return Outcome(next: .cancelled, text: "cancelled")
    }
}
