// The fault server: one process for the whole run, driven through its control port.

import Foundation
import Oncewire

final class FaultServer: @unchecked Sendable {
    /// Started with the first test that needs it; it ends when our end of its input closes, with this process.
    static let shared = Result { try FaultServer() }

    let port: UInt16
    private let process = Process()
    private let input = Pipe()

    /// The binary that `cargo xtask test swift` built.
    static func binary() throws -> String {
        guard let path = ProcessInfo.processInfo.environment["ONCEWIRE_FAULT_SERVER"], !path.isEmpty else {
            throw Trouble("ONCEWIRE_FAULT_SERVER does not name the fault server's binary")
        }
        return path
    }

    private init() throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: try Self.binary())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else {
                throw Trouble("the fault server ended before it said where it is")
            }
            line += byte
        }
        let control = try JSONValue(jsonText: String(decoding: line, as: UTF8.self))["control"]?.stringValue
        guard let port = control.flatMap(URL.init(string:))?.port else { throw Trouble("the fault server said \(line)") }
        self.port = UInt16(port)
    }

    /// The cases marked for Swift.
    static func vectors() throws -> [JSONValue] {
        try http("GET", "/vectors/swift", port: shared.get().port).arrayValue ?? []
    }
}

/// The servers of one scenario.
struct Scenario: Sendable {
    let id: String
    let url: String
    private let port: UInt16

    /// One server, `main`; healthy without options and rules.
    static func start(options: JSONValue = [:], rules: JSONValue = []) async throws -> Scenario {
        try await start(body: ["servers": ["main": ["options": options, "rules": rules]]])
    }

    static func start(vector: JSONValue) async throws -> Scenario { try await start(body: ["vector": vector]) }

    private static func start(body: JSONValue) async throws -> Scenario {
        let port = try FaultServer.shared.get().port
        let answer = try await blocking { try http("POST", "/scenarios", port: port, body: body.jsonText) }
        guard let id = answer["id"]?.stringValue, let url = answer["servers"]?["main"]?["url"]?.stringValue else {
            throw Trouble("odd answer: \(answer)")
        }
        return Scenario(id: id, url: url, port: port)
    }

    /// Does something to the server; returns when it is done.
    func control(_ action: JSONValue) async throws { try await control(step: ["do": action]) }

    func control(step: JSONValue) async throws { _ = try await request("POST", "control", step) }

    /// Waits until the ledger is like this.
    func until(_ expectation: JSONValue) async throws { try await control(["await": expectation]) }

    func ledger() async throws -> JSONValue { try await request("GET", "ledger/main", [:]) }

    func judge(_ report: JSONValue) async throws -> [String] {
        let answer = try await request("POST", "judge", report)
        guard let failures = answer["failures"]?.arrayValue else { throw Trouble("odd answer: \(answer)") }
        return failures.map { $0.stringValue ?? $0.description }
    }

    func stop() async {
        let (port, id) = (port, id)
        _ = try? await blocking { try http("DELETE", "/scenarios/\(id)", port: port) }
    }

    private func request(_ method: String, _ path: String, _ body: JSONValue) async throws -> JSONValue {
        let (port, id) = (port, id)
        return try await blocking { try http(method, "/scenarios/\(id)/\(path)", port: port, body: body.jsonText) }
    }
}

/// Runs a test body against one scenario, and takes its servers down afterwards.
func with<T>(_ scenario: Scenario, _ body: (Scenario) async throws -> T) async throws -> T {
    do {
        let value = try await body(scenario)
        await scenario.stop()
        return value
    } catch {
        await scenario.stop()
        throw error
    }
}

/// A value that several threads write.
final class Shared<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: Value
    init(_ value: Value) { stored = value }
    var value: Value { change { $0 } }
    @discardableResult
    func change<T>(_ body: (inout Value) throws -> T) rethrows -> T {
        lock.lock()
        defer { lock.unlock() }
        return try body(&stored)
    }
}

/// Lets so many in at once.
actor Gate {
    private var free: Int
    private var waiting: [CheckedContinuation<Void, Never>] = []
    init(_ free: Int) { self.free = free }

    func enter() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func leave() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
