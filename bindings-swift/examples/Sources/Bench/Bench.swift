// oncewire-bench URL CALLERS SECONDS: prints calls per second. The Rust twin, and the server of both, is benches/calls.rs.

import Oncewire

@main
struct Bench {
    static func main() async throws {
        let words = CommandLine.arguments
        guard words.count == 4, let callers = Int(words[2]), let seconds = Double(words[3]) else {
            fatalError("usage: oncewire-bench URL CALLERS SECONDS")
        }
        let client = try await Client.connect(url: words[1])
        _ = try await calls(client, callers, .milliseconds(500))
        let begun = ContinuousClock.now
        let count = try await calls(client, callers, .seconds(seconds))
        print(Int(Double(count) / ((ContinuousClock.now - begun) / .seconds(1))))
        await client.close()
    }

    static func calls(_ client: Client, _ callers: Int, _ time: Duration) async throws -> Int {
        let end = ContinuousClock.now + time
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<callers {
                group.addTask {
                    var count = 0
                    while ContinuousClock.now < end {
                        _ = try await client.callTool(name: "peek", arguments: ["n": 1])
                        count += 1
                    }
                    return count
                }
            }
            return try await group.reduce(0, +)
        }
    }
}
