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
