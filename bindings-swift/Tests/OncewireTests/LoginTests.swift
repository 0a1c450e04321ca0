// Logins: the options reach the core, and what it asks reaches the closures. What is decided is tested in the core.

import Foundation
import Oncewire
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What a browser would be sent to: the server grants everything at once.
private func receive(_ url: String) async throws -> String {
    final class Stay: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _: URLSession, task _: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
            completionHandler: @escaping (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }
    }
    let url = try #require(URL(string: url))
    return try await withCheckedThrowingContinuation { continuation in
        let session = URLSession(configuration: .ephemeral, delegate: Stay(), delegateQueue: nil)
        session.dataTask(with: url) { _, response, error in
            if let back = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "Location") {
                continuation.resume(returning: back)
            } else {
                continuation.resume(throwing: error ?? URLError(.badServerResponse))
            }
        }.resume()
    }
}

private struct Told: LocalizedError {
    var errorDescription: String? { "nobody is here" }
}

private final class Store: LoginStore {
    let values = Shared<[String: String]>([:])
    func load(key: String) async throws -> String? { values.value[key] }
    func save(key: String, value: String?) async throws { values.change { $0[key] = value } }
    func lock(key: String) async throws {}
    func unlock(key: String) async throws {}
}

@Suite(.timeLimit(.minutes(1))) struct LoginTests {
    private static let guarded: JSONValue = ["authorization": [:], "protected": [:]]

    @Test func aClientLogsInByItselfAndKeepsTheLogin() async throws {
        try await with(Scenario.start(options: Self.guarded)) { scenario in
            let store = Store()
            let urls = Shared<[String]>([])
            let told = Shared<[EventName]>([])
            for _ in 0..<2 {
                var options = ClientOptions(onEvent: { event in told.change { $0.append(event.event) } })
                var oauth = OAuth()
                oauth.store = .host(store)
                oauth.receive = { url in
                    urls.change { $0.append(url) }
                    return try await receive(url)
                }
                options.oauth = oauth
                let client = try await Client.connect(url: scenario.url, options: options)
                _ = try await client.callTool(name: "peek")
                try await client.login()
                await client.close()
            }
            #expect(urls.value.count == 1)
            #expect(told.value.filter { $0 == .loginNeeded || $0 == .loginDone } == [.loginNeeded, .loginDone])
            #expect(store.values.value.count == 1)
        }
    }

    @Test func aClosureThatThrowsFailsTheLoginWithItsWords() async throws {
        try await with(Scenario.start(options: Self.guarded)) { scenario in
            var options = ClientOptions()
            var oauth = OAuth()
            oauth.store = .memory
            oauth.receive = { _ in throw Told() }
            options.oauth = oauth
            do {
                _ = try await Client.connect(url: scenario.url, options: options)
                Issue.record("it succeeded")
            } catch let error as OncewireError {
                #expect(error.kind == .auth)
                #expect("\(error)".contains("nobody is here"))
            }
        }
    }
}
