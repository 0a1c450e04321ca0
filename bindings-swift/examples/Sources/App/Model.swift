// The state of the window, on the main actor; the client does its work elsewhere.

import Desk
import Foundation
import Oncewire

@MainActor
final class Model: ObservableObject {
    @Published var url = "http://127.0.0.1:8000/mcp"
    @Published var tools: [Tool] = []
    @Published var tool = ""
    @Published var arguments = "{}"
    @Published private(set) var state = "not connected"
    @Published private(set) var outcome: Outcome?
    @Published private(set) var progress: Double?
    @Published private(set) var events: [Event] = []
    @Published private(set) var calling: Task<Void, Never>?

    private var client: Client?
    private var reader: Task<Void, Never>?

    func connect() async {
        await disconnect()
        do {
            let client = try await Client.connect(url: url)
            self.client = client
            state = client.state
            reader = Task { [weak self] in
                // The stream does not hold the client, and ends with it.
                for await event in client.events { self?.note(event) }
            }
            tools = try await client.listTools().tools
            tool = tools.first?.name ?? ""
        } catch {
            state = error.localizedDescription
        }
    }

    func disconnect() async {
        calling?.cancel()
        reader?.cancel()
        await client?.close()
        client = nil
        tools = []
        state = "not connected"
    }

    func call() {
        guard let client, calling == nil else { return }
        let arguments: JSONValue
        do {
            arguments = try JSONValue(jsonText: self.arguments)
        } catch {
            outcome = Outcome(next: .repeatIt, text: "the arguments are \(error)")
            return
        }
        outcome = nil
        progress = nil
        calling = Task { [tool] in
            outcome = await Desk.call(client, tool: tool, arguments: arguments) { [weak self] update in
                let part = update.total.map { update.progress / $0 }
                Task { @MainActor in self?.progress = part }
            }
            calling = nil
        }
    }

    /// Cancelling the task is all: the core tells the server, and the call ends as cancelled.
    func cancel() { calling?.cancel() }

    private func note(_ event: Event) {
        events.append(event)
        if events.count > 500 { events.removeFirst(events.count - 500) }
        state = client?.state ?? state
    }
}
