// Servers on stdio: the scripted one, which notes what it did in a file that outlives it.

import Foundation
import Oncewire
import Testing

/// A server that is not started yet, and what it noted.
private struct Scripted {
    let command: ServerCommand
    private let ledger: URL

    init(lives: String = "[]", options: String = "{}") throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("oncewire-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        ledger = folder.appendingPathComponent("ledger")
        let script = "{\"lives\": \(lives), \"options\": \(options)}"
        command = ServerCommand(try FaultServer.binary(), args: ["--stdio", ledger.path, "--script", script])
    }

    func notes() throws -> [JSONValue] {
        try String(contentsOf: ledger, encoding: .utf8).split(separator: "\n").map { try JSONValue(jsonText: String($0)) }
    }

    func count(_ what: String) throws -> Int { try notes().filter { $0[what] != nil }.count }
}

@Suite struct StdioTests {
    @Test(arguments: [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
    func bothErasOverPipes(era: String, version: String) async throws {
        let server = try Scripted(options: "{\"era\": \"\(era)\"}")
        let client = try await Client.connect(stdio: server.command)
        #expect(client.protocolVersion == version)
        let tools = try await client.listTools()
        #expect(tools.tools.count == 5)
        _ = try await client.callTool(name: "poke")
        await client.close()
        #expect(try server.count("started") == 1)
        #expect(try server.notes().last?.stringValue == "eof")
    }

    @Test func aProcessThatEndsIsJudgedAndReplaced() async throws {
        let server = try Scripted(lives: "[{\"ends_after_running\": true, \"exit_code\": 7, \"stderr\": [\"the last words\"]}]")
        let client = try await Client.connect(stdio: server.command)
        do {
            _ = try await client.callTool(name: "poke")
            Issue.record("it was answered")
        } catch OncewireError.mayHaveExecuted(let failure) {
            #expect(failure.kind == .connectionClosed)
            #expect(failure.reason.contains("exit code 7") && failure.reason.contains("the last words"))
        }
        _ = try await client.callTool(name: "poke")
        #expect(client.generation == 2)
        await client.close()
        #expect(try server.count("started") == 2)
        #expect(try server.count("ran") == 2)
    }

    @Test func whatCannotBeUsedIsNamed() async throws {
        for (command, named) in [
            (ServerCommand("/no/such/program"), "could not be started"), (ServerCommand("cat", folder: "/no/such/folder"), "folder"),
        ] {
            do {
                _ = try await Client.connect(stdio: command)
                Issue.record("it was started")
            } catch OncewireError.notExecuted(let failure) {
                #expect(failure.reason.contains(named))
            }
        }
    }
}
