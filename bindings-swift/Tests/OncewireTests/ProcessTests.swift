// What clients leave behind in the process: nothing. XCTest, because it runs one test after the other in a process of its own; the other
// tests run at once, and what they hold would be counted here.

import Foundation
import Oncewire
import XCTest

/// What this process holds. The fault server is another process, and its control port is spoken to by threads that end at once.
private struct Held: CustomStringConvertible {
    var descriptors = 0
    var threads = 0

    static func now() -> Held {
        #if os(Linux)
            func entries(_ folder: String) -> Int { (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1 }
            return Held(descriptors: entries("/proc/self/fd"), threads: entries("/proc/self/task"))
        #else
            let descriptors = (0..<getdtablesize()).filter { fcntl($0, F_GETFD) != -1 }.count
            return Held(descriptors: descriptors, threads: 0)
        #endif
    }

    /// Two may differ by a socket that is just closing, or a thread that a pool keeps.
    func near(_ start: Held) -> Bool { descriptors <= start.descriptors + 2 && threads <= start.threads + 2 }

    var description: String { "\(descriptors) descriptors, \(threads) threads" }
}

/// Bytes of memory; 0 where it cannot be told.
private func resident() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4096 } ?? 0
}

/// The kernel tells nobody when a descriptor is gone, so this looks until it is.
private func back(to start: Held, _ what: String, file: StaticString = #filePath, line: UInt = #line) async throws {
    let patience = ContinuousClock.now + .seconds(5)
    while !Held.now().near(start) {
        if ContinuousClock.now > patience {
            return XCTFail("\(what): \(start) became \(Held.now())", file: file, line: line)
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Memory must not grow with the number of clients. The allocator keeps what it was given once and gives some of it back, so the size of a
/// process goes up and down by megabytes; but what leaks goes up each time. Ten kilobytes a client would show.
private func flat(_ what: String, hundredClients: () async throws -> Void) async throws {
    var grown: [Int] = []
    for _ in 0..<6 {
        let before = resident()
        try await hundredClients()
        grown.append(resident() - before)
        if grown.last! < 1_000_000 { return }
    }
    XCTFail("\(what): memory grows with each hundred clients: \(grown)")
}

final class ProcessTests: XCTestCase {
    /// S13
    func test_a_hundred_lives_leave_nothing_however_the_goodbye_is_answered() async throws {
        let answers: [(String, JSONValue, Int)] = [
            ("200", [], 1), ("204", [["respond": ["status": 204]]], 1), ("404", [["respond": ["status": 404]]], 1),
            ("405", [["respond": ["status": 405]]], 1),
            // Each of these waits for `closeTimeout`, so they wait together.
            ("never", ["hold"], 25),
        ]
        for (name, answer, atOnce) in answers {
            try await with(Scenario.start(rules: [["when": ["http": "DELETE"], "do": answer]])) { scenario in
                try await lives(scenario, atOnce)
                try await scenario.until(["value": "connections/open", "is": 0])
                let start = Held.now()
                try await flat(name) {
                    for _ in 0..<(100 / atOnce) { try await lives(scenario, atOnce) }
                    try await scenario.until(["value": "connections/open", "is": 0])
                    try await back(to: start, name)
                }
                let sessions = try await scenario.ledger()["sessions"]?.arrayValue ?? []
                XCTAssertGreaterThanOrEqual(sessions.count, 100 + atOnce, name)
                XCTAssertTrue(sessions.allSatisfy { $0["deletes"] == 1 }, name)
            }
        }
    }

    private func lives(_ scenario: Scenario, _ atOnce: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<atOnce {
                group.addTask {
                    var options = ClientOptions()
                    options.closeTimeout = .milliseconds(400)
                    let client = try await Client.connect(url: scenario.url, options: options)
                    _ = try await client.callTool(name: "poke")
                    let begun = ContinuousClock.now
                    await client.close()
                    XCTAssertLessThan(ContinuousClock.now - begun, .seconds(2))
                    // The second time is harmless.
                    await client.close()
                    do {
                        _ = try await client.callTool(name: "poke")
                        XCTFail("a closed client called")
                    } catch OncewireError.notExecuted(let failure) {
                        XCTAssertEqual(failure.kind, .closed)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// S13
    func test_a_hundred_failed_connects_leave_nothing() async throws {
        try await with(Scenario.start(options: ["start_down": true])) { scenario in
            var options = ClientOptions()
            options.connectPatience = .zero
            func fail() async {
                do {
                    _ = try await Client.connect(url: scenario.url, options: options)
                    XCTFail("it connected")
                } catch OncewireError.notExecuted(let failure) {
                    XCTAssertEqual(failure.kind, .connect)
                    XCTAssertEqual(failure.proof, .neverSent)
                } catch {
                    XCTFail("\(error)")
                }
            }
            for _ in 0..<10 { await fail() }
            let start = Held.now()
            try await flat("a dead port") {
                for _ in 0..<100 { await fail() }
                try await back(to: start, "a dead port")
            }
        }
    }

    /// Closes in the middle of calls, with closures of every kind, and lets go of half of the clients without closing them.
    func test_two_hundred_clients_under_load_leave_nothing() async throws {
        let options: JSONValue = ["tokens": ["s3cret"], "answer": "sse", "slow_ms": 20, "progress_every_ms": 5]
        try await with(Scenario.start(options: options)) { scenario in
            let alive = Shared(0)
            func round(_ number: Int) async throws {
                let canary = Canary(alive)
                let options = ClientOptions(
                    token: { [canary] _ in canary.touch("s3cret") }, headerProvider: { [canary] in canary.touch(["X-Asked": "1"]) },
                    onSampling: { [canary] in canary.touch($0) }, onElicitation: { [canary] in canary.touch($0) },
                    onRoots: { [canary] in canary.touch($0) }, onNotification: { [canary] _ in canary.touch(()) },
                    onEvent: { [canary] _ in canary.touch(()) })
                let client = try await Client.connect(url: scenario.url, options: options)
                let reader = Task { [events = client.events] in for await _ in events {} }
                let calls = (0..<8).map { nth in
                    Task {
                        nth % 2 == 0
                            ? try await client.callTool(name: "slow", onProgress: { [canary] _ in canary.touch(()) })
                            : try await client.callTool(name: "echo", arguments: ["n": .int(nth)])
                    }
                }
                _ = try await client.callTool(name: "peek")
                if number % 2 == 0 { await client.close() }
                for call in calls {
                    // Each ends: with its result, or because its client was closed.
                    if case .failure(let error) = await call.result {
                        XCTAssertEqual((error as? OncewireError)?.kind, .closed, "\(error)")
                    }
                }
                if number % 2 != 0 { reader.cancel() }
                await reader.value
            }
            for number in 0..<10 { try await round(number) }
            try await scenario.until(["value": "connections/open", "is": 0])
            let start = Held.now()
            func hundred() async throws {
                for number in 0..<100 { try await round(number) }
                try await scenario.until(["value": "connections/open", "is": 0])
                try await back(to: start, "a hundred clients")
            }
            try await hundred()
            try await flat("clients under load", hundredClients: hundred)
            let patience = ContinuousClock.now + .seconds(5)
            while alive.value > 0, ContinuousClock.now < patience { try await Task.sleep(for: .milliseconds(5)) }
            XCTAssertEqual(alive.value, 0, "closures of clients that are gone")
            let sessions = try await scenario.ledger()["sessions"]?.arrayValue ?? []
            XCTAssertGreaterThanOrEqual(sessions.count, 210)
            XCTAssertTrue(sessions.allSatisfy { $0["deletes"] == 1 })
        }
    }

    func test_a_client_that_is_let_go_says_goodbye() async throws {
        try await with(Scenario.start()) { scenario in
            var client: Client? = try await Client.connect(url: scenario.url)
            _ = try await client?.callTool(name: "poke")
            client = nil
            try await scenario.until(["count": "sessions", "where": ["deletes": 1], "is": 1])
            try await scenario.until(["value": "connections/open", "is": 0])
        }
    }

    func test_a_client_that_is_let_go_in_the_middle_of_a_call_finishes_it_first() async throws {
        let rules: JSONValue = [["when": ["name": "poke"], "do": [["gate": "p"], "answer"]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            let task = Task { try await Client.connect(url: scenario.url).callTool(name: "poke") }
            try await scenario.control(["await_gate": ["gate": "p"]])
            try await scenario.control(["release": "p"])
            let result = try await task.value
            XCTAssertEqual(result.text, "poke done")
            try await scenario.until(["count": "sessions", "where": ["deletes": 1], "is": 1])
        }
    }
}

/// Counts those of its kind that are alive.
private final class Canary: Sendable {
    private let alive: Shared<Int>
    init(_ alive: Shared<Int>) {
        self.alive = alive
        alive.change { $0 += 1 }
    }
    func touch<T>(_ value: T) -> T { value }
    deinit { alive.change { $0 -= 1 } }
}
