// Runs one scenario vector with the Swift client: steps in, report out.

import Foundation
import Oncewire

/// Everything that the tasks of one run share.
final class VectorRun: Sendable {
    private struct State {
        var client: Client?
        var calls: [String: JSONValue] = [:]
        var events: [JSONValue] = []
        var texts: [String] = []
        var tokensAsked = 0
    }

    private let options: JSONValue
    private let url: String
    private let state = Shared(State())

    private init(options: JSONValue, url: String) {
        self.options = options
        self.url = url
    }

    /// Everything that is wrong with this vector; nothing if all is well.
    static func run(_ vector: JSONValue) async throws -> [String] {
        try await with(Scenario.start(vector: vector)) { scenario in
            let run = VectorRun(options: vector["client"] ?? [:], url: scenario.url)
            try await run.steps(vector["steps"]?.arrayValue ?? [], scenario)
            if let client = run.state.value.client {
                await client.close()
                run.text("\(client)")
                var dumped = ""
                dump(client, to: &dumped)
                run.text(dumped)
            }
            let state = run.state.value
            return try await scenario.judge([
                "calls": .object(state.calls), "events": .array(state.events), "texts": .array(state.texts.map(JSONValue.string)),
                "tokens_asked": .int(state.tokensAsked),
            ])
        }
    }

    private func steps(_ steps: [JSONValue], _ scenario: Scenario) async throws {
        var started: [String: Task<Void, Never>] = [:]
        func tasks(_ name: String?) throws -> [Task<Void, Never>] {
            let name = name ?? ""
            let found = started.filter { $0.key == name || $0.key.hasPrefix(name + ".") }
            guard !found.isEmpty else { throw Trouble("nothing was started as \(name)") }
            return Array(found.values)
        }
        for step in steps {
            guard case .object(let members) = step, let (what, value) = members.first else { throw Trouble("odd step \(step)") }
            switch what {
            case "call":
                for name in names(value) { await call(name, value) }
            case "together":
                await withTaskGroup(of: Void.self) { group in
                    for one in value.arrayValue ?? [] {
                        for name in names(one) { group.addTask { await self.call(name, one) } }
                    }
                }
            case "start":
                for name in names(value) { started[name] = Task { await self.call(name, value) } }
            case "wait":
                for task in try tasks(value.stringValue) { await task.value }
            case "cancel":
                for task in try tasks(value.stringValue) { task.cancel() }
            case "control":
                do {
                    try await scenario.control(step: value)
                } catch {
                    throw Trouble("\(value): \(error); so far \(state.value.calls)")
                }
            default: throw Trouble("odd step \(step)")
            }
        }
    }

    private func names(_ call: JSONValue) -> [String] {
        let base = call["as"]?.stringValue ?? call["method"]?.stringValue ?? ""
        guard let times = call["times"]?.intValue else { return [base] }
        return (0..<times).map { "\(base).\($0)" }
    }

    private func text(_ text: String) { state.change { $0.texts.append(text) } }

    private func call(_ name: String, _ call: JSONValue) async {
        let begun = ContinuousClock.now
        let progress = Shared<[JSONValue]>([])
        var outcome: [String: JSONValue] = [:]
        do {
            outcome["ok"] = try await perform(call, progress)
        } catch is CancellationError {
            outcome["cancelled"] = true
        } catch let error as OncewireError {
            var members = error.json.objectValue ?? [:]
            members["class"] =
                switch error {
                case .notExecuted: "not_executed"
                case .mayHaveExecuted: "may_have_executed"
                case .answered: "answered"
                }
            members["text"] = .string(error.localizedDescription)
            outcome["error"] = .object(members)
            text(error.localizedDescription)
            text(String(reflecting: error))
        } catch {
            outcome["error"] = ["class": "another", "text": .string("\(error)")]
        }
        let elapsed = ContinuousClock.now - begun
        outcome["elapsed_ms"] = .int(Int(elapsed / .milliseconds(1)))
        outcome["progress"] = .array(progress.value)
        state.change { $0.calls[name] = .object(outcome) }
    }

    private func perform(_ call: JSONValue, _ progress: Shared<[JSONValue]>) async throws -> JSONValue {
        let method = call["method"]?.stringValue ?? ""
        if method == "connect" {
            let client = try await Client.connect(url: url, options: clientOptions())
            state.change { $0.client = client }
            return nil
        }
        guard let client = state.value.client else { return "a call without a client" }
        let given = call["options"] ?? [:]
        let options = CallOptions(json: given)
        let meta = given["meta"]?.objectValue
        let key = given["idempotency_key"]?.stringValue.map(IdempotencyKey.given)
        var onProgress: (@Sendable (ProgressUpdate) -> Void)?
        if given["on_progress"] == true {
            onProgress = { now in
                let total: JSONValue = now.total.map { .number($0) } ?? .null
                progress.change { $0.append(["progress": .number(now.progress), "total": total]) }
            }
        }
        func text(_ name: String) -> String { call["arguments"]?[name]?.stringValue ?? "" }
        let arguments = call["arguments"]?["arguments"]
        let cursor = call["arguments"]?["cursor"]?.stringValue
        switch method {
        case "close":
            await client.close()
            return nil
        case "recover":
            try await client.recover()
            return nil
        case "call_tool":
            return try await client.callTool(
                name: text("name"), arguments: arguments, options: options, idempotencyKey: key, meta: meta, onProgress: onProgress
            ).json
        case "read_resource":
            return try await client.readResource(uri: text("uri"), options: options, meta: meta, onProgress: onProgress).json
        case "get_prompt":
            let strings = arguments?.objectValue?.compactMapValues(\.stringValue)
            return try await client.getPrompt(
                name: text("name"), arguments: strings, options: options, meta: meta, onProgress: onProgress
            ).json
        case "complete":
            let argument = call["arguments"]?["argument"]
            return try await client.complete(
                reference: call["arguments"]?["ref"] ?? nil, argument: argument?["name"]?.stringValue ?? "",
                value: argument?["value"]?.stringValue ?? "", options: options, meta: meta
            ).json
        case "ping":
            try await client.ping(options: options)
            return nil
        case "set_log_level":
            try await client.setLogLevel(text("level"), options: options)
            return nil
        case "subscribe":
            try await client.subscribe(uri: text("uri"), options: options)
            return nil
        case "unsubscribe":
            try await client.unsubscribe(uri: text("uri"), options: options)
            return nil
        case "request":
            return try await client.request(
                method: text("method"), params: call["arguments"]?["params"], options: options, meta: meta, onProgress: onProgress)
        case "list_tools": return try await client.listTools(cursor: cursor, options: options, onProgress: onProgress).json
        case "list_resources": return try await client.listResources(cursor: cursor, options: options, onProgress: onProgress).json
        case "list_resource_templates":
            return try await client.listResourceTemplates(cursor: cursor, options: options, onProgress: onProgress).json
        case "list_prompts": return try await client.listPrompts(cursor: cursor, options: options, onProgress: onProgress).json
        default: throw Trouble("there is no method \(method)")
        }
    }

    private func clientOptions() throws -> ClientOptions {
        var options = try ClientOptions(json: self.options)
        let state = state
        if let tokens = self.options["tokens"]?.arrayValue?.compactMap(\.stringValue) {
            options.token = { _ in
                let nth = state.change { state in
                    defer { state.tokensAsked += 1 }
                    return state.tokensAsked
                }
                guard let token = tokens.indices.contains(nth) ? tokens[nth] : tokens.last else { throw Trouble("there is no token") }
                return token
            }
        }
        options.onEvent = { event in
            state.change { state in
                state.texts.append("\(event)")
                state.events.append(event.json)
            }
        }
        return options
    }
}

extension JSONValue {
    /// As JSON has it: 1.0 is 1.
    static func number(_ value: Double) -> JSONValue { Int(exactly: value).map(JSONValue.int) ?? .double(value) }
}
