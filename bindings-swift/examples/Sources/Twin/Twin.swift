// oncewire-twin URL                     lists the tools
// oncewire-twin URL TOOL [ARGUMENTS]    calls one, with a JSON object as arguments
//
// The result goes to standard output, events go to standard error. The exit status says what to do next: 0 done, 1 safe to call again,
// 2 verify first, 3 the server answered with an error, 64 wrong usage.

import Desk
import Foundation
import Oncewire

@main
struct Twin {
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard let url = words.first, words.count <= 3 else {
            complain("usage: oncewire-twin URL [TOOL [ARGUMENTS]]")
            exit(64)
        }
        var options = ClientOptions(onEvent: { event in complain("event: \(event.json)") })
        if let token = ProcessInfo.processInfo.environment["ONCEWIRE_TOKEN"] { options.token = { _ in token } }
        do {
            let client = try await Client.connect(url: url, options: options)
            let status = await run(client, Array(words.dropFirst()))
            await client.close()
            exit(status)
        } catch {
            complain(error.localizedDescription)
            exit(1)
        }
    }

    static func run(_ client: Client, _ words: [String]) async -> Int32 {
        guard let tool = words.first else {
            do {
                for tool in try await client.listTools().tools { print(tool.name, tool.toolDescription ?? "", separator: "\t") }
                return 0
            } catch {
                complain(error.localizedDescription)
                return 1
            }
        }
        var arguments: JSONValue?
        if words.count > 1 {
            do {
                arguments = try JSONValue(jsonText: words[1])
            } catch {
                complain("ARGUMENTS: \(error)")
                return 64
            }
        }
        let outcome = await call(client, tool: tool, arguments: arguments) { complain("progress: \($0.progress)") }
        switch outcome.next {
        case .done:
            print(outcome.text)
            return 0
        case .repeatIt, .cancelled:
            complain("\(outcome.text) (\(outcome.next.rawValue))")
            return 1
        case .verifyFirst:
            complain("\(outcome.text) (\(outcome.next.rawValue))")
            return 2
        case .readTheAnswer:
            complain("\(outcome.text) (\(outcome.next.rawValue))")
            return 3
        }
    }

    static func complain(_ text: String) {
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
