// The command-line example, as a program.

import Foundation
import Oncewire
import Testing

@Suite(.timeLimit(.minutes(1))) struct ExampleTests {
    private struct Ended: Sendable {
        let status: Int32
        let output: String
        let complaints: String
    }

    private func twin(_ arguments: String...) async throws -> Ended {
        guard let path = ProcessInfo.processInfo.environment["ONCEWIRE_TWIN"], !path.isEmpty else {
            throw Trouble("ONCEWIRE_TWIN does not name the example's binary")
        }
        return try await blocking {
            let process = Process()
            let (output, complaints) = (Pipe(), Pipe())
            process.executableURL = URL(fileURLWithPath: path)
            process.arguments = arguments
            process.standardOutput = output
            process.standardError = complaints
            try process.run()
            // Both are far smaller than a pipe holds.
            process.waitUntilExit()
            func text(_ pipe: Pipe) throws -> String { String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self) }
            return try Ended(status: process.terminationStatus, output: text(output), complaints: text(complaints))
        }
    }

    @Test func itListsAndCallsAndSaysWhatToDoNext() async throws {
        let rules: JSONValue = [["when": ["name": "poke"], "do": ["execute", "close"]]]
        try await with(Scenario.start(rules: rules)) { scenario in
            let list = try await twin(scenario.url)
            #expect(list.status == 0)
            #expect(list.output.contains("poke\t") && list.output.contains("echo\t"))

            let echo = try await twin(scenario.url, "echo", #"{"n": 9007199254740993}"#)
            #expect(echo.status == 0)
            #expect(echo.output == "{\"n\":9007199254740993}\n")

            let poke = try await twin(scenario.url, "poke")
            #expect(poke.status == 2)
            #expect(poke.complaints.contains("(verify before calling again)"))
            #expect(poke.complaints.contains(#""kind":"connection_closed""#))

            #expect(try await twin(scenario.url, "no such tool").status == 3)
            #expect(try await twin(scenario.url, "peek", "{").status == 64)
            #expect(try await twin().status == 64)

            let ledger = try await scenario.ledger()
            #expect(ledger["executions"]?.arrayValue?.filter { $0["name"] == "poke" }.count == 1)
            #expect(ledger["sessions"]?.arrayValue?.allSatisfy { $0["deletes"] == 1 } == true)
        }
        #expect(try await twin("ftp://127.0.0.1/mcp").status == 1)
    }
}
