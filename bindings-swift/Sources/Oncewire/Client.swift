// The client: cheap to share, one method for each method of MCP.

import Foundation
internal import OncewireNative

/// A client of one MCP server.
///
/// It never runs a tool twice without proof, never hangs on a dead stream, and recovers a lost session exactly once. Share it freely; when
/// the last reference goes, it closes by itself, in the background. A call belongs to the `Task` that makes it: cancelling the task cancels
/// the call, and the call throws `CancellationError`.
public final class Client: Sendable {
    let native: NativeClient

    private init(_ native: NativeClient) { self.native = native }

    /// Connects to the server at this URL: waits for the handshake, unless `lazy`.
    ///
    /// - Throws: `OncewireError` for an option that cannot be used or a handshake that failed, `CancellationError`.
    public static func connect(url: URL, options: ClientOptions = ClientOptions()) async throws -> Client {
        try await connect(url: url.absoluteString, options: options)
    }

    /// Connects to the server at this URL: waits for the handshake, unless `lazy`.
    ///
    /// - Throws: `OncewireError` for an option that cannot be used or a handshake that failed, `CancellationError`.
    public static func connect(url: String, options: ClientOptions = ClientOptions()) async throws -> Client {
        try Task.checkCancellation()
        Log.useDefault()
        return try await settled(OncewireNative.connect(url: url, options: options.native))
    }

    /// Starts a server by this command, and connects to it over its stdin and stdout: waits for the handshake, unless `lazy`.
    ///
    /// The process is the session: a lost one is replaced by a new process, and `close()` ends it with its children. Options of HTTP that it
    /// would never hear of (`token`, `oauth`, headers, certificates, `proxy`) are refused.
    ///
    /// - Throws: `OncewireError` for an option that cannot be used or a handshake that failed, `CancellationError`.
    public static func connect(stdio command: ServerCommand, options: ClientOptions = ClientOptions()) async throws -> Client {
        try Task.checkCancellation()
        Log.useDefault()
        return try await settled(OncewireNative.connectStdio(command: command.described.jsonText, options: options.native))
    }

    private static func settled(_ pending: PendingConnect) async throws -> Client {
        let outcome = await withTaskCancellationHandler {
            await pending.result()
        } onCancel: {
            pending.cancel()
        }
        switch outcome {
        case .connected(let client): return Client(client)
        case .failed(let json): throw OncewireError(json: JSONValue(core: json))
        case .cancelled: throw CancellationError()
        }
    }

    /// Waits for the handshake, and starts it if need be.
    public func ready() async throws { _ = try await settle { native.ready() } }

    /// Replaces the session by a new one, whatever its state. The old one ends with its last call.
    public func recover() async throws { _ = try await settle { native.recover() } }

    /// Makes sure that there is a login: the stored one, refreshed if it is over, or a new one, for which a person is asked.
    public func login() async throws { _ = try await settle { native.login() } }

    /// Ends the login: it is revoked, as far as the authorization server lets it, and forgotten in the store.
    public func logout() async throws { _ = try await settle { native.logout() } }

    /// Closes the client, within `closeTimeout`: new calls fail `closed` and were not executed; calls in flight are cancelled and judged by
    /// what is known of them; the session gets its DELETE. Harmless when it is closed already; not cut short by cancelling the task.
    public func close() async { await native.close() }

    /// Events as they happen, from now on, for one reader; each access gives a stream of its own. It ends with the client, or when the task
    /// that reads is cancelled. A reader that falls too far behind loses the oldest.
    public var events: AsyncStream<Event> {
        let feed = native.events()
        return AsyncStream {
            await feed.next().map { Event(json: JSONValue(core: $0)) }
        } onCancel: {
            feed.stop()
        }
    }

    /// Where the client stands: `idle`, `connecting`, `ready`, `recovering`, `lost`, `closed`; `login_needed` while it waits for a person to log in.
    public var state: String { native.state() }
    /// Is the client closed, or closing?
    public var isClosed: Bool { native.isClosed() }
    /// The generation of the current session, or of the last one; 0 before the first.
    public var generation: Int { Int(clamping: native.generation()) }
    /// What the server said of itself, as it sent it; in both eras under the names of the answer to `initialize`.
    public var initialized: InitializeResult? { native.initialized().map { InitializeResult(json: JSONValue(core: $0)) } }
    /// Name, version, … of the server.
    public var serverInfo: JSONValue? { initialized?.serverInfo }
    /// What the server offers.
    public var capabilities: JSONValue? { initialized?.capabilities }
    /// How the server wants to be used.
    public var instructions: String? { initialized?.instructions }
    /// The version that both sides speak.
    public var protocolVersion: String? { initialized?.protocolVersion }
    /// The era that both sides speak; nil before the first handshake.
    public var era: String? { native.era() }
}

/// Starts a call and waits for its end. Cancelling the task cancels the call; the core says how it ended, once.
func settle(_ start: () -> PendingCall) async throws -> String {
    try Task.checkCancellation()
    let pending = start()
    do {
        return try await withTaskCancellationHandler {
            try await pending.result()
        } onCancel: {
            pending.cancel()
        }
    } catch NoResult.Failed(let json) {
        throw OncewireError(json: JSONValue(core: json))
    } catch NoResult.Cancelled {
        throw CancellationError()
    }
}
