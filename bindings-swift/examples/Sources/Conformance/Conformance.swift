// The client that the official conformance suite drives, in Swift: `oncewire-conformance URL`, with the scenario in the environment.
//
// It behaves alike in every scenario: it lists what the server offers and calls each of it once. The few that ask for more are named in `play`.

import Foundation
import Oncewire

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What stands in the way of a scenario.
struct Problem: Error {
    let text: String
}

@main
struct Conformance {
    /// The longest that a scenario may take; the suite's own limit ends only the shell around us.
    static let limit = Duration.seconds(20)

    static func main() async throws {
        guard let url = CommandLine.arguments.last else { throw Problem(text: "the last argument is the URL of the server") }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await play(url) }
                group.addTask {
                    try await Task.sleep(for: limit)
                    throw Problem(text: "the scenario takes too long")
                }
                try await group.next()
                group.cancelAll()
            }
        } catch {
            // An error that leaves `main` is a crash, and what is written about it takes its time.
            print("failed: \(error)")
            exit(1)
        }
    }

    /// Plays the client in the scenario that the environment names.
    static func play(_ url: String) async throws {
        let environment = ProcessInfo.processInfo.environment
        let (listening, heard) = AsyncStream.makeStream(of: Void.self)
        // What is left out of an answer is filled with the defaults of the schema: by the client, not here.
        var options = ClientOptions(
            // Nothing asks for sampling and for roots; they are declared.
            onSampling: { _ in throw Problem(text: "there is no model here") },
            onElicitation: { _ in ["action": "accept", "content": [:]] },
            onRoots: { _ in ["roots": []] },
            onEvent: { event in if event.event == .listenerOn { heard.yield() } })
        let scenario = environment["MCP_CONFORMANCE_SCENARIO", default: ""]
        if scenario.hasPrefix("auth/") {
            options.oauth = try login(String(scenario.dropFirst(5)), environment["MCP_CONFORMANCE_CONTEXT", default: ""])
        }
        let client = try await Client.connect(url: url, options: options)
        // The client finds out by itself which era the server speaks.
        let era = environment["MCP_CONFORMANCE_PROTOCOL_VERSION", default: ""] >= "2026" ? "modern" : "legacy"
        guard client.era == era else { throw Problem(text: "the client speaks the wrong era: \(client.era ?? "none")") }
        switch scenario {
        case "elicitation-sep1034-client-defaults":
            // The server asks on the stream that the client opens beside its calls, and asks nobody if there is none yet.
            for await _ in listening { break }
            try await useTools(client)
        case "http-custom-headers":
            let context = try JSONValue(jsonText: environment["MCP_CONFORMANCE_CONTEXT", default: ""])
            for call in context["toolCalls"]?.arrayValue ?? [] {
                _ = try await client.callTool(name: call["name"]?.stringValue ?? "", arguments: call["arguments"])
            }
        case "json-schema-2020-12-preservation":
            let tool = try await client.listTools().tools.first { $0.name == "json_schema_2020_12_tool" }
            guard let schema = tool?.inputSchema else { throw Problem(text: "the tool is missing") }
            _ = try await client.callTool(name: "json_schema_echo", arguments: ["schema": schema])
        case "json-schema-ref-no-deref":
            if try await client.listTools().tools.isEmpty { throw Problem(text: "the server has no tools") }
        default:
            try await useTools(client)
            try await useResources(client)
            try await usePrompts(client)
        }
        await client.close()
    }

    /// How the client logs in: as a person's in a browser, unless the scenario gives it something else to log in with.
    static func login(_ scenario: String, _ text: String) throws -> OAuth {
        // Most scenarios have none, and what starts us in the toolchain gives that as an empty text.
        let context = try JSONValue(jsonText: text.isEmpty ? "{}" : text)
        let given = { (name: String) in context[name]?.stringValue }
        var oauth = OAuth()
        oauth.store = .memory
        oauth.receive = { url in try await redirect(url) }
        oauth.clientID = given("client_id")
        oauth.clientSecret = given("client_secret")
        switch scenario {
        case "basic-cimd": oauth.clientMetadataURL = "https://conformance-test.local/client-metadata.json"
        case "pre-registration": oauth.issuer = given("issuer")
        case "client-credentials-basic": oauth.clientCredentials = true
        case "client-credentials-jwt":
            oauth.clientCredentials = true
            oauth.privateKey = .init(pem: given("private_key_pem") ?? "", algorithm: given("signing_algorithm") ?? "")
        case "enterprise-managed-authorization":
            let token = given("idp_id_token") ?? ""
            oauth.enterprise = .init(
                tokenEndpoint: given("idp_token_endpoint") ?? "", clientID: given("idp_client_id") ?? "", idToken: { token })
        case "wif-jwt-bearer":
            let assertion = given("valid_jwt") ?? ""
            oauth.workloadIdentity = { assertion }
        case "dpop", "dpop-nonce": oauth.dpop = true
        default: break
        }
        return oauth
    }

    /// What the browser of a person would do: the suite's authorization servers grant everything, and send it back at once.
    static func redirect(_ url: String) async throws -> String {
        guard let url = URL(string: url) else { throw Problem(text: "the URL of the login is none") }
        return try await withCheckedThrowingContinuation { continuation in
            let session = URLSession(configuration: .ephemeral, delegate: Stay(), delegateQueue: nil)
            session.dataTask(with: url) { _, response, error in
                if let back = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Location") {
                    continuation.resume(returning: back)
                } else {
                    continuation.resume(throwing: error ?? Problem(text: "what came is no redirect"))
                }
            }.resume()
        }
    }

    /// Follows no redirect.
    final class Stay: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
            completionHandler: @escaping (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }

    /// Calls every tool, with arguments that its schema takes.
    static func useTools(_ client: Client) async throws {
        for tool in try await client.listTools().tools {
            let result = try await client.callTool(name: tool.name, arguments: arguments(of: tool))
            print(tool.name, result.json, separator: ": ")
        }
    }

    /// Something of the right type for each argument that a tool cannot do without.
    static func arguments(of tool: Tool) -> JSONValue {
        var arguments: [String: JSONValue] = [:]
        for name in tool.inputSchema?["required"]?.arrayValue?.compactMap(\.stringValue) ?? [] {
            arguments[name] =
                switch tool.inputSchema?["properties"]?[name]?["type"]?.stringValue {
                case "number", "integer": 2
                case "boolean": true
                default: "text"
                }
        }
        return .object(arguments)
    }

    /// Reads every resource, if there are any.
    static func useResources(_ client: Client) async throws {
        guard client.capabilities?["resources"] != nil else { return }
        for resource in try await client.listResources().resources { _ = try await client.readResource(uri: resource.uri) }
    }

    /// Gets every prompt, if there are any.
    static func usePrompts(_ client: Client) async throws {
        guard client.capabilities?["prompts"] != nil else { return }
        for prompt in try await client.listPrompts().prompts { _ = try await client.getPrompt(name: prompt.name) }
    }
}
