// Every scenario vector that is marked for Swift, judged by the fault server.

import Oncewire
import Testing

/// A vector by its name.
struct Case: Sendable, CustomTestStringConvertible {
    let vector: JSONValue
    var testDescription: String { vector["name"]?.stringValue ?? "?" }
}

private let cases: Result<[Case], any Error> = Result { try FaultServer.vectors().map(Case.init(vector:)) }

/// More at once would measure the machine and not the client: scenarios have clocks.
private let gate = Gate(4)

@Test func thereAreVectorsForSwift() throws {
    #expect(try cases.get().count > 100)
}

@Test(arguments: (try? cases.get()) ?? [])
func vector(_ one: Case) async throws {
    await gate.enter()
    do {
        let failures = try await VectorRun.run(one.vector)
        #expect(failures == [], "\(one.testDescription)")
    } catch {
        Issue.record("\(one.testDescription): \(error)")
    }
    await gate.leave()
}

/// A scenario that expects what does not happen must fail: else the others prove nothing.
@Test func aVectorThatExpectsTheWrongThingFails() async throws {
    let all = try cases.get()
    let one = try #require(all.first { $0.testDescription.hasPrefix("s37_one_key") })
    guard case .object(var members) = one.vector else { throw Trouble("odd vector") }
    members["expect"] = ["ledger": [["count": "executions", "where": ["name": "poke"], "is": 2]]]
    let failures = try await VectorRun.run(.object(members))
    #expect(failures.count == 1)
}
