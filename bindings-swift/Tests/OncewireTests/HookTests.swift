// The caller's closures: tokens, headers, sampling, elicitation, roots. One that throws fails its own call only.

import Foundation
import Oncewire
import Testing

/// An error with something in it that must go nowhere.
private enum Sour: Error { case because(secret: String) }

private struct Told: LocalizedError {
    var errorDescription: String? { "the keychain is locked" }
}

@Suite(.timeLimit(.minutes(1))) struct HookTests {
    @Test func eightCallersAskForATokenOnce() async throws {
        try await with(Scenario.start(options: ["tokens": ["token-1-s3cret"]])) { scenario in
            let asked = Shared<[String?]>([])
            let options = ClientOptions(token: { refused in
                asked.change { $0.append(refused) }
                return refused == nil ? "token-1-s3cret" : "token-2-s3cret"
            })
            let client = try await Client.connect(url: scenario.url, options: options)
            try await scenario.control(["accept_tokens": ["token-2-s3cret"]])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 { group.addTask { _ = try await client.callTool(name: "poke") } }
                try await group.waitForAll()
            }
            #expect(asked.value == [nil, "token-1-s3cret"])
            #expect(try await scenario.ledger()["executions"]?.arrayValue?.count == 8)
            #expect(try await scenario.ledger()["sessions"]?.arrayValue?.count == 1)
            try await scenario.control(["accept_tokens": ["another"]])
            do {
                _ = try await client.callTool(name: "poke")
                Issue.record("it succeeded")
            } catch let error as OncewireError {
                #expect(error.kind == .auth)
                #expect(error.proof == .unauthorized)
                #expect(!"\(error) \(String(reflecting: error)) \(error.json)".contains("s3cret"))
            }
            await client.close()
        }
    }

    @Test func aTokenProviderThatThrowsFailsItsCallWithItsWords() async throws {
        // One client each: what the provider failed with stands for a while, and it is not asked again at once.
        let failures: [(any Error, String)] = [
            (Told(), "the keychain is locked"), (Sour.because(secret: "s3cret"), "Sour"),
        ]
        for (failure, words) in failures {
            try await with(Scenario.start(options: ["tokens": ["one"]])) { scenario in
                let answers = Shared<[Result<String, any Error>]>([.success("one"), .failure(failure), .failure(failure)])
                let options = ClientOptions(token: { _ in try answers.change { $0.removeFirst() }.get() })
                let client = try await Client.connect(url: scenario.url, options: options)
                try await scenario.control(["accept_tokens": ["two"]])
                for _ in 0..<2 {
                    do {
                        _ = try await client.callTool(name: "poke")
                        Issue.record("it succeeded")
                    } catch let error as OncewireError {
                        #expect(error.execution == .notExecuted)
                        #expect(error.localizedDescription.contains(words))
                        #expect(!error.localizedDescription.contains("s3cret"))
                    }
                }
                await client.close()
            }
        }
    }

    @Test func headersGoOutWithEachAttempt() async throws {
        try await with(Scenario.start()) { scenario in
            let fail = Shared(false)
            let options = ClientOptions(
                headers: ["X-Fixed": "1"],
                headerProvider: {
                    if fail.value { throw Told() }
                    return ["X-Asked": "2"]
                })
            let client = try await Client.connect(url: scenario.url, options: options)
            _ = try await client.callTool(name: "poke")
            let poke = try await scenario.ledger()["arrivals"]?.arrayValue?.last { $0["name"] == "poke" }
            let names = poke?["headers"]?.arrayValue?.compactMap(\.stringValue) ?? []
            #expect(names.contains("x-fixed") && names.contains("x-asked"))
            fail.change { $0 = true }
            do {
                _ = try await client.callTool(name: "poke")
                Issue.record("it succeeded")
            } catch let error as OncewireError {
                #expect(error.execution == .notExecuted)
                #expect(error.localizedDescription.contains("the keychain is locked"))
            }
            fail.change { $0 = false }
            _ = try await client.callTool(name: "poke")
            await client.close()
        }
    }

    /// A server that asks `method` in the middle of `poke`.
    private func asking(_ method: String, _ params: JSONValue) -> JSONValue {
        [["when": ["name": "poke"], "do": ["execute", ["request": ["id": "s1", "method": .string(method), "params": params]], ["answer_event": [:]]]]]
    }

    @Test(arguments: ["sampling/createMessage", "elicitation/create", "roots/list"])
    func aRequestOfTheServerIsAnswered(_ method: String) async throws {
        try await with(Scenario.start(rules: asking(method, ["message": "sure?", "n": 7]))) { scenario in
            let seen = Shared<JSONValue>(nil)
            let answer: RequestHandler = { params in
                seen.change { $0 = params }
                try await Task.sleep(for: .milliseconds(5))
                return ["action": "accept", "content": ["yes": true]]
            }
            let options = ClientOptions(onSampling: answer, onElicitation: answer, onRoots: answer)
            let client = try await Client.connect(url: scenario.url, options: options)
            #expect(try await client.callTool(name: "poke").text == "poke done")
            #expect(seen.value["n"] == 7)
            let response = try await scenario.ledger()["responses"]?[0]
            #expect(response?["id"] == "s1")
            #expect(response?["result"] == ["action": "accept", "content": ["yes": true]])
            await client.close()
        }
    }

    @Test func aHandlerThatThrowsFailsItsRequestOnly() async throws {
        try await with(Scenario.start(rules: asking("sampling/createMessage", [:]))) { scenario in
            let options = ClientOptions(onSampling: { _ in throw Sour.because(secret: "s3cret") })
            let client = try await Client.connect(url: scenario.url, options: options)
            #expect(try await client.callTool(name: "poke").text == "poke done")
            let response = try await scenario.ledger()["responses"]?[0]
            #expect(response?["error"]?["code"] != nil)
            #expect(response?.description.contains("s3cret") == false)
            #expect(try await client.callTool(name: "peek").text == "peek done")
            await client.close()
        }
    }

    @Test func aHandlerThatNobodyWaitsForIsCancelled() async throws {
        try await with(Scenario.start(rules: asking("sampling/createMessage", [:]))) { scenario in
            let (started, startedInput) = AsyncStream.makeStream(of: Void.self)
            let (ended, endedInput) = AsyncStream.makeStream(of: Bool.self)
            let options = ClientOptions(onSampling: { _ in
                startedInput.yield()
                do {
                    try await Task.sleep(for: .seconds(60))
                } catch {
                    endedInput.yield(error is CancellationError)
                    throw error
                }
                return [:]
            })
            let client = try await Client.connect(url: scenario.url, options: options)
            let task = Task { try await client.callTool(name: "poke") }
            for await _ in started { break }
            await client.close()
            for await cancelled in ended {
                #expect(cancelled)
                break
            }
            await #expect(throws: OncewireError.self) { try await task.value }
        }
    }

    @Test func notificationsAreDelivered() async throws {
        try await with(Scenario.start()) { scenario in
            let (stream, input) = AsyncStream.makeStream(of: ServerNotification.self)
            let client = try await Client.connect(url: scenario.url, options: ClientOptions(onNotification: { input.yield($0) }))
            for await event in client.events where event.event == .listenerOn { break }
            try await scenario.control(["push": ["method": "notifications/resources/updated", "params": ["uri": "mem://a"]]])
            for await notification in stream {
                #expect(notification.method == "notifications/resources/updated")
                #expect(notification.params == ["uri": "mem://a"])
                #expect(notification.generation == 1)
                break
            }
            await client.close()
        }
    }
}
