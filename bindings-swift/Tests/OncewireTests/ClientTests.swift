// The client against a healthy server, and its errors.

import Foundation
import Oncewire
import Testing

@Suite(.timeLimit(.minutes(1))) struct ClientTests {
    @Test func aClientKnowsItsServer() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: #require(URL(string: scenario.url)))
            #expect(client.state == "ready")
            #expect(client.generation == 1)
            #expect(client.era == "legacy")
            #expect(client.protocolVersion == "2025-11-25")
            #expect(client.serverInfo?["name"]?.stringValue?.isEmpty == false)
            #expect(client.capabilities?["tools"] != nil)
            #expect(!client.isClosed)
            await client.close()
            #expect(client.isClosed)
            #expect(client.state == "closed")
        }
    }

    @Test func argumentsAndResultsAreCodable() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let draft = JSONTests.Draft(to: "a", copies: .max, tags: ["x": 1], extra: ["k": [1, nil]])
            let result = try await client.callTool(name: "echo", arguments: draft)
            #expect(try result.structuredContent?.decode() == draft)
            #expect(!result.isError)
            let literal = try await client.callTool(name: "echo", arguments: ["to": "a", "n": 9_007_199_254_740_993])
            #expect(literal.structuredContent == ["to": "a", "n": 9_007_199_254_740_993])
            #expect(try JSONValue(jsonText: literal.text) == literal.structuredContent)
            await client.close()
        }
    }

    @Test func aResultKeepsUnknownFieldsAndEveryDigit() async throws {
        let text = #"{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"hologram","n":1}],"future":{"n":123456789012345678901234567890}}}"#
        let rules: JSONValue = [["when": ["name": "peek"], "do": [["respond": ["headers": ["Content-Type": "application/json"], "text": .string(text)]]]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let result = try await client.callTool(name: "peek")
            #expect(result.json["future"]?["n"] == .raw("123456789012345678901234567890"))
            #expect(result.content[0]["type"] == "hologram")
            await client.close()
        }
    }

    @Test func everyMethod() async throws {
        try await with(Scenario.start(options: ["page_size": 2])) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let tools = try await client.listTools()
            #expect(tools.tools.map(\.name) == ["poke", "peek", "nudge", "slow", "echo"])
            #expect(tools.tools[1].annotations.readOnlyHint == true)
            #expect(tools.nextCursor == nil)
            let resources = try await client.listResources()
            #expect(resources.resources.map(\.uri) == ["mem://a", "mem://b", "mem://c"])
            // The cursor that the client used for the second page.
            let arrivals = try await scenario.ledger()["arrivals"]?.arrayValue ?? []
            let cursor = try #require(arrivals.compactMap { $0["params"]?["cursor"]?.stringValue }.last)
            let page = try await client.listResources(cursor: cursor)
            #expect(page.resources.map(\.uri) == ["mem://c"])
            _ = try await client.listResourceTemplates()
            #expect(try await client.listPrompts().prompts.map(\.name) == ["hello", "bye"])
            #expect(try await client.readResource(uri: "mem://a").contents.count == 1)
            #expect(try await client.getPrompt(name: "hello", arguments: ["who": "me"]).messages.count > 0)
            _ = try await client.complete(reference: ["type": "ref/prompt", "name": "hello"], argument: "who", value: "m", context: ["arguments": ["x": "y"]])
            try await client.ping()
            try await client.setLogLevel("warning")
            try await client.subscribe(uri: "mem://a")
            try await client.unsubscribe(uri: "mem://a")
            _ = try await client.request(method: "dev.oncewire.tests/custom", params: ["n": 1])
            try await client.ready()
            try await client.recover()
            #expect(client.generation == 2)
            let ledger = try await scenario.ledger()
            let completed = ledger["arrivals"]?.arrayValue?.first { $0["rpc"] == "completion/complete" }
            #expect(completed?["params"]?["context"] == ["arguments": ["x": "y"]])
            await client.close()
        }
    }

    @Test func progressArrivesInOrderAndBeforeTheResult() async throws {
        try await with(Scenario.start(options: ["answer": "sse", "progress_every_ms": 10])) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let seen = Shared<[Double]>([])
            let result = try await client.callTool(name: "slow", arguments: ["ms": 100]) { progress in seen.change { $0.append(progress.progress) } }
            let atTheEnd = seen.value
            #expect(result.text == "slow done")
            #expect(atTheEnd.count >= 2)
            #expect(atTheEnd == atTheEnd.sorted())
            await client.close()
        }
    }

    @Test func metaKeysAndMoreParamsGoOut() async throws {
        try await with(Scenario.start()) { scenario in
            let client = try await Client.connect(url: scenario.url)
            let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
            _ = try await client.callTool(name: "poke", idempotencyKey: "toolu_1", meta: ["traceparent": .string(parent)])
            _ = try await client.callTool(name: "poke", idempotencyKey: .off)
            _ = try await client.readResource(uri: "mem://a", params: ["extra": ["n": 9_007_199_254_740_993]])
            _ = try await client.listPrompts(params: ["extra": 1])
            let arrivals = try await scenario.ledger()["arrivals"]?.arrayValue ?? []
            let pokes = arrivals.filter { $0["name"] == "poke" }
            let read = arrivals.first { $0["rpc"] == "resources/read" }
            #expect(read?["params"]?["extra"] == ["n": 9_007_199_254_740_993])
            let list = arrivals.first { $0["rpc"] == "prompts/list" }
            #expect(list?["params"]?["extra"] == 1)
            #expect(pokes.map { $0["key"]?.stringValue } == ["toolu_1", nil])
            #expect(pokes.first?["traceparent"]?.stringValue == parent)
            await client.close()
        }
    }

    @Test func theErrorSaysWhatToDo() async throws {
        let rules: JSONValue = [["when": ["name": "poke"], "do": ["execute", "close"]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            let client = try await Client.connect(url: scenario.url)
            do {
                _ = try await client.callTool(name: "poke", timeout: .seconds(30))
                Issue.record("it succeeded")
            } catch OncewireError.mayHaveExecuted(let failure) {
                #expect(failure.kind == .connectionClosed)
                #expect(failure.method == "tools/call")
                #expect(failure.name == "poke")
                #expect(failure.proof == nil)
                #expect(failure.attempts.count == 1)
                #expect(failure.attempts[0].execution == .mayHaveExecuted)
                let error = OncewireError.mayHaveExecuted(failure)
                #expect(error.localizedDescription.contains("the tool may have run: check before running it again"))
                // One flat JSON object, there and back.
                let data = try JSONEncoder().encode(error)
                #expect(try JSONDecoder().decode(OncewireError.self, from: data) == error)
                #expect(try JSONDecoder().decode(JSONValue.self, from: data)["execution"] == "may_have_executed")
            }
            do {
                _ = try await client.callTool(name: "no such tool")
                Issue.record("it succeeded")
            } catch OncewireError.answered(let failure) {
                #expect(failure.code == -32602)
                #expect(failure.kind == .rpc)
                #expect(failure.message.contains("no such tool"))
            }
            await client.close()
            do {
                _ = try await client.callTool(name: "poke")
                Issue.record("it succeeded")
            } catch OncewireError.notExecuted(let failure) {
                #expect(failure.kind == .closed)
                #expect(failure.proof == .neverSent)
                #expect(failure.proofBasis == .certain)
            }
        }
    }

    @Test func anErrorOfSomethingElseIsNotDecoded() {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(OncewireError.self, from: Data(#"{"kind":"timeout"}"#.utf8)) }
    }

    @Test func whatCannotBeUsedIsTheCoresToSay() async throws {
        try await with(Scenario.start()) { scenario in
            for url in ["ftp://127.0.0.1/mcp", "nonsense", "http://me:secret@127.0.0.1/mcp"] {
                await expectConfig("url") { _ = try await Client.connect(url: url) }
            }
            var options = ClientOptions()
            options.timeout = .seconds(-1)
            await expectConfig("timeout") { [options] in _ = try await Client.connect(url: scenario.url, options: options) }
            options.timeout = nil
            options.maxPages = -3
            await expectConfig("max_pages") { [options] in _ = try await Client.connect(url: scenario.url, options: options) }

            let client = try await Client.connect(url: scenario.url)
            await expectConfig("timeout") { _ = try await client.callTool(name: "peek", timeout: .zero) }
            await expectConfig("arguments") { _ = try await client.callTool(name: "peek", arguments: [1, 2]) }
            await expectConfig("arguments") { _ = try await client.callTool(name: "peek", arguments: ["x": .double(.nan)]) }
            await expectConfig("meta") { _ = try await client.callTool(name: "peek", meta: ["x": .double(.infinity)]) }
            await expectConfig("params") { _ = try await client.listTools(params: ["x": .double(.nan)]) }
            await expectConfig("ref") { _ = try await client.complete(reference: .raw("{"), argument: "a", value: "") }
            await expectConfig("params") { _ = try await client.request(method: "x/y", params: [1]) }
            await expectConfig("idempotency_key") { _ = try await client.callTool(name: "peek", idempotencyKey: "") }
            // As long as a Duration can be: no overflow anywhere on the way.
            _ = try await client.callTool(name: "peek", timeout: .seconds(Int64.max))
            _ = try await client.callTool(name: "peek", timeout: .nanoseconds(5_000_000_001))
            #expect(try await scenario.ledger()["executions"]?.arrayValue?.count == 2)
            await client.close()
        }
    }

    private func expectConfig(_ field: String, _ call: () async throws -> Void) async {
        do {
            try await call()
            Issue.record("\(field): it succeeded")
        } catch OncewireError.notExecuted(let failure) where failure.kind == .config && failure.proof == .neverSent {
            #expect(failure.reason.contains(field))
        } catch {
            Issue.record("\(field): \(error)")
        }
    }
}
