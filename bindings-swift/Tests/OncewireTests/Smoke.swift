import Testing
@testable import Oncewire
@Test func connectRefused() async throws {
    var options = ClientOptions(); options.connectPatience = .zero
    do { _ = try await Client.connect(url: "http://127.0.0.1:9/mcp", options: options); Issue.record("connected") }
    catch OncewireError.notExecuted(let failure) { print(failure); #expect(failure.kind == .connect) }
}
