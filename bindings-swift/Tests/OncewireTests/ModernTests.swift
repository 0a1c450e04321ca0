// The modern era (2026-07-28): found out by itself, without a handshake, with questions in answers, tasks and a cache.

import Foundation
import Oncewire
import Testing

private let tasks: [String: JSONValue] = ["io.modelcontextprotocol/tasks": [:]]
private let form: JSONValue = [
    "message": "who?", "requestedSchema": ["type": "object", "properties": ["name": ["type": "string"]]],
]
private let who: JSONValue = ["method": "elicitation/create", "params": form]
private let told: JSONValue = [
    "who": ["action": "accept", "content": ["name": "me"]],
    "think": ["role": "assistant", "model": "m", "content": ["type": "text", "text": "hi"]],
    "where": ["roots": [["uri": "file:///home"]]],
]

private struct Told: LocalizedError {
    var errorDescription: String? { "the user went away" }
}

extension Scenario {
    fileprivate static func modern(_ options: [String: JSONValue] = [:], rules: JSONValue = []) async throws -> Scenario {
        try await start(options: .object(options.merging(["era": "modern"]) { given, _ in given }), rules: rules)
    }

    fileprivate func arrivals(_ member: String, _ value: JSONValue) async throws -> [JSONValue] {
        (try await ledger()["arrivals"]?.arrayValue ?? []).filter { $0[member] == value }
    }
}

@Suite(.timeLimit(.minutes(1))) struct ModernTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let speaks: String
        let given: Era?
        let era: String
        let probes: Int
        let handshakes: Int
        var testDescription: String { "\(speaks), \(given?.rawValue ?? "nothing said")" }
    }

    @Test(arguments: [
        Row(speaks: "modern", given: nil, era: "modern", probes: 1, handshakes: 0),
        Row(speaks: "dual", given: .auto, era: "modern", probes: 1, handshakes: 0),
        Row(speaks: "legacy", given: .auto, era: "legacy", probes: 1, handshakes: 1),
        Row(speaks: "dual", given: .legacy, era: "legacy", probes: 0, handshakes: 1),
        Row(speaks: "modern", given: .modern, era: "modern", probes: 1, handshakes: 0),
    ])
    func theEraIsThatOfTheServerUnlessItIsSaid(_ row: Row) async throws {
        try await with(.modern(["era": .string(row.speaks)])) { scenario in
            var options = ClientOptions()
            options.era = row.given
            let client = try await Client.connect(url: scenario.url, options: options)
            #expect(client.era == row.era)
            #expect(client.protocolVersion == (row.era == "modern" ? "2026-07-28" : "2025-11-25"))
            #expect(client.serverInfo?["name"] == "fault-server")
            #expect(client.capabilities?["tools"] != nil)
            #expect(client.generation == 1)
            #expect(try await client.callTool(name: "poke").resultType == "complete")
            #expect(try await scenario.arrivals("rpc", "server/discover").count == row.probes)
            #expect(try await scenario.arrivals("rpc", "initialize").count == row.handshakes)
            await client.close()
        }
    }

    @Test func anEraThatTheServerDoesNotSpeakIsAnError() async throws {
        try await with(.modern(["era": "legacy"])) { scenario in
            var options = ClientOptions()
            options.era = .modern
            do {
                _ = try await Client.connect(url: scenario.url, options: options)
                Issue.record("it connected")
            } catch OncewireError.notExecuted(let failure) {
                #expect(failure.kind == .protocolViolation)
            }
        }
    }

    @Test(arguments: ["modern", "legacy"])
    func extensionsAreDeclaredAsTheyAre(_ era: String) async throws {
        try await with(.modern(["era": .string(era)])) { scenario in
            var options = ClientOptions()
            options.extensions = tasks.merging(["dev.example/one": ["a": [1, ["b": "c"]], "n": .int(.max)]]) { given, _ in given }
            let client = try await Client.connect(url: scenario.url, options: options)
            _ = try await client.callTool(name: "peek")
            let modern = try await scenario.arrivals("name", "peek").map { $0["meta"]?["io.modelcontextprotocol/clientCapabilities"] }
            let legacy = try await scenario.arrivals("rpc", "initialize").map { $0["params"]?["capabilities"] }
            let declared = era == "modern" ? modern : legacy
            #expect(declared.map { $0?["extensions"]?.objectValue } == [options.extensions])
            await client.close()
        }
    }

    @Test func anExtensionThatCannotBeDeclaredNamesItself() async throws {
        var options = ClientOptions()
        options.extensions = ["dev.example/one": 1]
        do {
            _ = try await Client.connect(url: "http://127.0.0.1:1/mcp", options: options)
            Issue.record("it connected")
        } catch OncewireError.notExecuted(let failure) {
            #expect(failure.kind == .config)
            #expect(OncewireError.notExecuted(failure).localizedDescription.contains("dev.example/one"))
        }
    }

    @Test(arguments: [true, false, nil])
    func listsAreAnsweredFromMemoryIfBothSidesWantIt(_ cache: Bool?) async throws {
        try await with(.modern(["keep": ["prompts/list": ["ttl_ms": 60_000, "scope": "public"]]])) { scenario in
            var options = ClientOptions()
            options.cache = cache
            let client = try await Client.connect(url: scenario.url, options: options)
            let first = try await client.listPrompts()
            #expect(!first.prompts.isEmpty)
            #expect(try await client.listPrompts() == first)
            #expect(try await client.listPrompts() == first)
            #expect(try await scenario.arrivals("rpc", "prompts/list").count == (cache == true ? 1 : 3))
            await client.close()
        }
    }

    @Test func aTaskIsAnAnswerThatSaysSoAndKeepsEveryDigit() async throws {
        let task = #"{"resultType":"task","taskId":"t1","status":"working","n":123456789012345678901234567890}"#
        let text: JSONValue = .string(#"{"jsonrpc":"2.0","id":$id,"result":\#(task)}"#)
        let answer: JSONValue = ["respond": ["headers": ["Content-Type": "application/json"], "text": text]]
        try await with(.modern(rules: [["when": ["name": "poke"], "do": ["execute", answer]]])) { scenario in
            var options = ClientOptions()
            options.extensions = tasks
            let client = try await Client.connect(url: scenario.url, options: options)
            let result = try await client.callTool(name: "poke")
            #expect(result.resultType == "task")
            #expect(try result.task == JSONValue(jsonText: task))
            #expect(result.task?["n"] == .raw("123456789012345678901234567890"))
            #expect(result.content.isEmpty)
            #expect(!result.isError)
            await client.close()
        }
        // The forerunner of the extension has a member of its own.
        let within = CallToolResult(json: ["task": ["taskId": "t1"]])
        #expect(within.resultType == "complete")
        #expect(within.task == ["taskId": "t1"])
        #expect(CallToolResult(json: ["resultType": "dev.example/other"]).task == nil)
    }

    @Test func whatTheServerAsksInItsAnswerIsPutToTheHandlers() async throws {
        let requests: JSONValue = [
            "who": who, "think": ["method": "sampling/createMessage", "params": ["messages": [], "maxTokens": 5]],
            "where": ["method": "roots/list"],
        ]
        try await with(.modern(["asks": ["poke": ["rounds": [["requests": requests, "state": "s"]]]]])) { scenario in
            let heard = Shared<[JSONValue]>([])
            let options = ClientOptions(
                onSampling: { params in
                    heard.change { $0.append(params["maxTokens"] ?? nil) }
                    return told["think"] ?? nil
                },
                onElicitation: { params in
                    heard.change { $0.append(params) }
                    return told["who"] ?? nil
                },
                onRoots: { _ in told["where"] ?? nil })
            let client = try await Client.connect(url: scenario.url, options: options)
            #expect(try await client.callTool(name: "poke").text == "poke done")
            #expect(Set(heard.value) == [5, form])
            let legs = try await scenario.arrivals("name", "poke").map { $0["params"] }
            #expect(legs.count == 2)
            #expect(legs.first??["inputResponses"] == nil)
            #expect(legs.last??["inputResponses"] == told)
            #expect(legs.last??["requestState"] == "s")
            await client.close()
        }
    }

    @Test func aHandlerThatThrowsFailsTheCall() async throws {
        try await with(.modern(["asks": ["poke": ["rounds": [["requests": ["who": who]]]]]])) { scenario in
            let client = try await Client.connect(url: scenario.url, options: ClientOptions(onElicitation: { _ in throw Told() }))
            do {
                _ = try await client.callTool(name: "poke")
                Issue.record("it succeeded")
            } catch let error as OncewireError {
                #expect(error.execution == .mayHaveExecuted)
            }
            let ran = try await scenario.ledger()["executions"]?.arrayValue?.filter { $0["name"] == "poke" && $0["asked"] == false }
            #expect(ran?.isEmpty == true)
            await client.close()
        }
    }

    @Test func cancellingClosesTheStreamAndSaysNoMore() async throws {
        try await with(.modern()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let task = Task { try await client.callTool(name: "slow", timeout: .seconds(15)) }
            try await scenario.until(["count": "executions", "where": ["name": "slow"], "is": 1])
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            let gone: JSONValue = ["name": "slow", "client_gone_at_ms": ["$not": nil]]
            try await scenario.until(["count": "arrivals", "where": gone, "is": 1])
            #expect(try await client.callTool(name: "peek").text == "peek done")
            #expect(try await scenario.arrivals("rpc", "notifications/cancelled").isEmpty)
            await client.close()
        }
    }

    @Test func aToolThatCannotBeCalledIsLeftOutWithAnEvent() async throws {
        let schema: JSONValue = ["properties": ["a": ["type": "string", "x-mcp-header": "not a name"]]]
        try await with(.modern(["tools": ["bad": ["inputSchema": schema]]])) { scenario in
            let events = Shared<[Event]>([])
            let options = ClientOptions(onEvent: { event in events.change { $0.append(event) } })
            let client = try await Client.connect(url: scenario.url, options: options)
            let names = try await client.listTools().tools.map(\.name)
            await client.close()
            #expect(names.contains("poke") && !names.contains("bad"))
            let dropped = events.value.filter { $0.event == .toolDropped }
            #expect(dropped.map(\.name) == ["bad"])
            #expect(dropped.first?.reason?.isEmpty == false)
        }
    }
}
