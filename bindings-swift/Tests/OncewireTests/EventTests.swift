// Events as a stream and as a closure, log lines, and a server that starts late.

import Foundation
import Oncewire
import Testing

@Suite(.timeLimit(.minutes(1))) struct EventTests {
    @Test func theStreamTellsOfARecoveryAndEndsWithTheClient() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let reader = Task { [events = client.events] in
                var names: [EventName] = []
                for await event in events { names.append(event.event) }
                return names
            }
            try await scenario.control("forget_sessions")
            _ = try await client.callTool(name: "poke")
            await client.close()
            let names = await reader.value.filter { [.sessionLost, .recovering, .sessionReplaced, .callFinished, .closed].contains($0) }
            #expect(names == [.sessionLost, .recovering, .sessionReplaced, .callFinished, .closed])
        }
    }

    @Test func cancellingTheReaderEndsTheStream() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let reader = Task { [events = client.events] in for await _ in events {} }
            reader.cancel()
            await reader.value
            #expect(client.state == "ready")
            await client.close()
        }
    }

    @Test func twoReadersSeeTheSame() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let readers = [client.events, client.events].map { events in
                Task {
                    var finished = 0
                    for await event in events where event.event == .callFinished { finished += 1 }
                    return finished
                }
            }
            for _ in 0..<5 { _ = try await client.callTool(name: "peek") }
            await client.close()
            for reader in readers { #expect(await reader.value == 5) }
        }
    }

    /// S29
    @Test func aServerThatStartsLateIsWaitedFor() async throws {
        try await with(Scenario.start(options: ["start_down": true])) { scenario in
            let names = Shared<[EventName]>([])
            var options = ClientOptions(onEvent: { event in names.change { $0.append(event.event) } })
            options.lazy = true
            let client = try await Client.connect(url: scenario.url, options: options)
            #expect(client.state == "idle")
            let calls = (0..<4).map { _ in Task { try await client.callTool(name: "poke", timeout: .seconds(5)) } }
            for await event in client.events where event.event == .attemptFailed || event.event == .connecting { break }
            try await scenario.control(["pause_ms": 500])
            try await scenario.control("come_up")
            for call in calls { #expect(try await call.value.text == "poke done") }
            let ledger = try await scenario.ledger()
            #expect(ledger["by_rpc"]?["initialize"] == 1)
            #expect(ledger["executions"]?.arrayValue?.count == 4)
            await client.close()
            let states = names.value.filter { [.connecting, .ready, .sessionLost, .recovering, .closed].contains($0) }
            #expect(states == [.connecting, .ready, .closed])
        }
    }

    @Test func logLinesReachTheClosure() async throws {
        let key = "toolu_\(UUID())"
        let lines = Shared<[LogRecord]>([])
        Log.use(upTo: .debug) { line in lines.change { $0.append(line) } }
        defer { Log.off() }
        let rules: JSONValue = [["when": ["name": "poke"], "do": ["execute", "close"]]]
        try await with(Scenario.start(options: ["tokens": ["s3cret"]], rules: rules)) { scenario in
            let client = try await Client.connect(url: scenario.url, options: ClientOptions(token: { _ in "s3cret" }))
            _ = try? await client.callTool(name: "poke", idempotencyKey: .given(key))
            await client.close()
        }
        let ours = lines.value.filter { $0.fields["idempotency_key"]?.stringValue == key }
        let failed = ours.first { $0.fields["event"] == "attempt_failed" }
        #expect(failed?.level == .warn)
        #expect(failed?.fields["kind"] == "connection_closed")
        #expect(failed?.text.contains("execution=may_have_executed") == true)
        let finished = ours.first { $0.fields["event"] == "call_finished" }
        #expect(finished?.level == .debug)
        let everything = lines.value.map(\.text).joined()
        #expect(!everything.contains("s3cret"))
        // Others run at the same time; but nothing below an error comes to this one.
        let errors = Shared<[LogRecord]>([])
        Log.use(upTo: .error) { line in errors.change { $0.append(line) } }
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            await client.close()
        }
        let levels = Set(errors.value.map(\.level))
        #expect(levels.isSubset(of: [.error]))
    }
}
