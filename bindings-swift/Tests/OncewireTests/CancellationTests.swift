// Cancelling a Swift task reaches the core and the server, in time, and nothing resumes twice. The calls that are cancelled have a time-out that
// is never reached: without it a cancellation that got lost would be a test that hangs, and not one that fails.

import Foundation
import Oncewire
import Testing

private let patience = Duration.seconds(15)

@Suite(.timeLimit(.minutes(1))) struct CancellationTests {
    @Test func aCancelledTaskEndsItsCallAndTellsTheServer() async throws {
        let rules: JSONValue = [["when": ["name": "poke"], "do": ["execute", "hold"]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let events = client.events
            let task = Task { try await client.callTool(name: "poke", timeout: patience, idempotencyKey: "toolu_9") }
            try await scenario.until(["count": "executions", "where": ["name": "poke"], "is": 1])
            let begun = ContinuousClock.now
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(ContinuousClock.now - begun < .seconds(2))
            try await scenario.until(["count": "cancelled", "where": ["rpc": "tools/call", "name": "poke"], "is": 1])
            // The verdict of the cancelled call is in its event, found by its key.
            for await event in events where event.event == .callFinished {
                #expect(event.idempotencyKey == "toolu_9")
                #expect(event.kind == .cancelled)
                #expect(event.execution == .mayHaveExecuted)
                break
            }
            #expect(try await client.callTool(name: "peek").text == "peek done")
            await client.close()
            let ledger = try await scenario.ledger()
            #expect(ledger["cancelled"]?.arrayValue?.count == 1)
            #expect(ledger["executions"]?.arrayValue?.filter { $0["name"] == "poke" }.count == 1)
        }
    }

    @Test func aTaskThatIsCancelledAlreadySendsNothing() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await client.callTool(name: "poke")
            }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let connecting = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await Client.connect(url: scenario.url)
            }
            connecting.cancel()
            await #expect(throws: CancellationError.self) { try await connecting.value }
            await client.close()
            let ledger = try await scenario.ledger()
            #expect(ledger["by_rpc"]?["tools/call"] == nil)
            #expect(ledger["by_rpc"]?["initialize"] == 1)
        }
    }

    @Test func aCancelledConnectDeletesTheSessionThatComesOfIt() async throws {
        let rules: JSONValue = [["when": ["rpc": "initialize"], "do": [["gate": "i"], "answer"]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            var options = ClientOptions()
            options.handshakeTimeout = patience
            let task = Task { [options] in try await Client.connect(url: scenario.url, options: options) }
            try await scenario.control(["await_gate": ["gate": "i"]])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            try await scenario.control(["release": "i"])
            try await scenario.until(["count": "sessions", "where": ["deletes": 1], "is": 1])
            #expect(try await scenario.ledger()["cancelled"] == [])
        }
    }

    @Test func aTimeOutIsNoCancellation() async throws {
        let rules: JSONValue = [["when": ["name": "poke"], "do": ["execute", "hold"]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            let client = try await Client.connect(url: scenario.url)
            do {
                _ = try await client.callTool(name: "poke", timeout: .milliseconds(200))
                Issue.record("it succeeded")
            } catch OncewireError.mayHaveExecuted(let failure) {
                #expect(failure.kind == .timeout)
            }
            try await scenario.until(["count": "cancelled", "where": ["name": "poke"], "is": 1])
            await client.close()
        }
    }

    /// Cancels at every stage of a call, from before its first byte to after its end. A continuation that resumed twice would trap, one that
    /// never resumed would hang, and a call that neither succeeded nor was cancelled is counted.
    @Test func fiveHundredRacesEndOnceEach() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let (succeeded, cancelled) = (Shared(0), Shared(0))
            await withTaskGroup(of: Void.self) { group in
                for round in 0..<500 {
                    if round >= 32 { await group.next() }
                    group.addTask {
                        let task = Task { try await client.callTool(name: "echo", arguments: ["n": .int(round)]) }
                        let pause = Task { try await Task.sleep(for: .microseconds(round * 20)) }
                        _ = await pause.result
                        task.cancel()
                        switch await task.result {
                        case .success(let result):
                            if result.structuredContent == ["n": .int(round)] { succeeded.change { $0 += 1 } }
                        case .failure(is CancellationError): cancelled.change { $0 += 1 }
                        case .failure(let error): Issue.record("\(error)")
                        }
                    }
                }
            }
            #expect(succeeded.value + cancelled.value == 500)
            #expect(cancelled.value > 0)
            // Two cancellers at once, and again after the end.
            let task = Task { try await client.callTool(name: "slow", arguments: ["ms": 30_000], timeout: patience) }
            try await scenario.until(["count": "arrivals", "where": ["name": "slow"], "is": 1])
            await withTaskGroup(of: Void.self) { group in for _ in 0..<8 { group.addTask { task.cancel() } } }
            await #expect(throws: CancellationError.self) { try await task.value }
            task.cancel()
            #expect(try await client.callTool(name: "peek").text == "peek done")
            await client.close()
        }
    }
}
