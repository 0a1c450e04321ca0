// Every option. What is nil was not given, and the core's default holds; none is repeated here.

import Foundation
internal import OncewireNative

/// Options of one call, or of one tool; what is nil is taken from the tool, then from the client.
public struct CallOptions: Sendable, Hashable {
    /// The whole call: queueing, recovery, refresh, all pages.
    public var timeout: Duration?
    /// No byte of an answer for that long ends the attempt.
    public var idleTimeout: Duration?
    /// Progress starts `timeout` anew.
    public var resetOnProgress: Bool?
    /// The cap that progress cannot move.
    public var maxTotalTimeout: Duration?
    /// The caller's word on sending the call again after an ambiguous loss.
    public var resend: Resend?

    public init(
        timeout: Duration? = nil, idleTimeout: Duration? = nil, resetOnProgress: Bool? = nil, maxTotalTimeout: Duration? = nil,
        resend: Resend? = nil
    ) {
        self.timeout = timeout
        self.idleTimeout = idleTimeout
        self.resetOnProgress = resetOnProgress
        self.maxTotalTimeout = maxTotalTimeout
        self.resend = resend
    }
}

/// The caller's word on sending a call again after an ambiguous loss.
public enum Resend: String, Sendable, Hashable, CaseIterable {
    /// Repeating is safe.
    case always
    /// The method and the tool's hints decide.
    case `default`
    /// Only with proof that it did not run.
    case never
}

/// What to do when the server has lost the session.
public enum Recovery: String, Sendable, Hashable, CaseIterable {
    /// Replace it by one shared handshake, and go on.
    case auto
    /// Every call fails `session_lost` until `recover()` is called.
    case surface
    /// Each call that the server refuses reports it; nothing else happens.
    case off
}

/// Which of a server's tool hints are believed when a call was lost without proof.
public enum TrustAnnotations: String, Sendable, Hashable, CaseIterable {
    /// None of them.
    case none
    /// `readOnlyHint` only.
    case readOnly = "read_only"
    /// `readOnlyHint` and `idempotentHint`.
    case hinted
}

/// Which era to speak.
public enum Era: String, Sendable, Hashable, CaseIterable {
    /// What the server speaks.
    case auto
    /// The one with a handshake.
    case legacy
    /// The one without.
    case modern
}

/// The key under which the server sees all attempts of a call.
public enum IdempotencyKey: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The caller's own, for example its tool-use id.
    case given(String)
    /// None is sent.
    case off

    public init(stringLiteral value: String) { self = .given(value) }
}

/// Gives the bearer token; gets the one that the server refused, or nil the first time.
public typealias TokenProvider = @Sendable (_ refused: String?) async throws -> String
/// Gives headers, before each attempt.
public typealias HeaderProvider = @Sendable () async throws -> [String: String]
/// Answers one kind of request of the server: gets the params, gives the result.
public typealias RequestHandler = @Sendable (_ params: JSONValue) async throws -> JSONValue

/// Options of a client.
///
/// Closures that throw fail what asked for them, nothing else. They must not hold the client strongly, or it is never let go.
public struct ClientOptions: Sendable {
    public struct Backoff: Sendable, Hashable {
        /// The bound of the first delay, doubling up to `max`.
        public var first: Duration
        public var max: Duration
        public init(first: Duration, max: Duration) {
            self.first = first
            self.max = max
        }
    }

    public struct RetryBudget: Sendable, Hashable {
        /// A share of the calls.
        public var percent: Double
        /// And so many a second.
        public var perSecond: Int
        public init(percent: Double, perSecond: Int) {
            self.percent = percent
            self.perSecond = perSecond
        }
    }

    public struct KeepAlive: Sendable, Hashable {
        /// The silence before a probe and between probes.
        public var interval: Duration
        /// The probes that may go unanswered.
        public var retries: Int
        public init(interval: Duration, retries: Int) {
            self.interval = interval
            self.retries = retries
        }
    }

    public struct Ping: Sendable, Hashable {
        /// The silence before it.
        public var interval: Duration
        /// How long its answer may take.
        public var timeout: Duration
        public init(interval: Duration, timeout: Duration) {
            self.interval = interval
            self.timeout = timeout
        }
    }

    public struct ClientInfo: Sendable, Hashable {
        public var name: String
        public var version: String
        public init(name: String, version: String) {
            self.name = name
            self.version = version
        }
    }

    public struct Identity: Sendable, Hashable {
        /// The certificate and its chain, PEM.
        public var chainPEM: Data
        /// Its key, PEM.
        public var keyPEM: Data
        public init(chainPEM: Data, keyPEM: Data) {
            self.chainPEM = chainPEM
            self.keyPEM = keyPEM
        }
    }

    public enum Proxy: Sendable, Hashable {
        /// This one, for example `http://127.0.0.1:3128`.
        case url(String)
        /// None, whatever the environment says.
        case none
    }

    public enum HTTPVersion: Sendable, Hashable {
        /// Speak HTTP/1.1 only.
        case http1
        /// Speak HTTP/2 without asking, also without TLS.
        case http2
    }

    /// The whole of each call: queueing, recovery, refresh, all pages.
    public var timeout: Duration?
    /// No byte of an answer for that long ends the attempt.
    public var idleTimeout: Duration?
    /// Progress starts `timeout` anew.
    public var resetOnProgress: Bool?
    /// The cap that progress cannot move.
    public var maxTotalTimeout: Duration?
    /// The caller's word on sending calls again after an ambiguous loss.
    public var resend: Resend?
    /// Options of single tools.
    public var toolOptions: [String: CallOptions] = [:]
    /// How long silence is borne on a resumed stream, or on an attempt whose session the server declared gone.
    public var orphanTimeout: Duration?
    /// Making one connection, TLS included.
    public var connectTimeout: Duration?
    /// How long attempts that were never sent are repeated when no deadline says, and handshakes that a gateway
    /// answered with 502, 503, 504 or 429 because the server is not up; zero: not at all.
    public var connectPatience: Duration?
    /// One try of a handshake; there are two.
    public var handshakeTimeout: Duration?
    /// All of `close()`, the DELETE of the session included.
    public var closeTimeout: Duration?
    /// The longest `Retry-After` that is waited for.
    public var retryAfterMax: Duration?
    /// The bounds of the delays between resends.
    public var backoff: Backoff?
    /// Resends after ambiguous losses.
    public var retryBudget: RetryBudget?
    /// The largest message, in bytes: all of a JSON body, envelope and escapes included.
    public var maxMessage: Int?
    /// The largest single event of a stream, in bytes: all its lines, `data: ` included; at most `maxMessage`.
    public var maxEvent: Int?
    /// The pages that one list may have.
    public var maxPages: Int?
    /// How long an idle connection is kept.
    public var poolIdleTimeout: Duration?
    /// Never reuse a connection for a call that has no leave to be repeated.
    public var freshConnection: Bool?
    public var tcpKeepAlive: KeepAlive?
    public var http2Ping: Ping?
    /// Which tool hints of the server are believed.
    public var trustAnnotations: TrustAnnotations?
    /// What to do about a lost session.
    public var recovery: Recovery?
    /// Which era to speak; the server is asked, unless one is given.
    public var era: Era?
    /// Extensions of the protocol that you speak, by id, each with its settings, a JSON object: they are declared to the server.
    public var extensions: [String: JSONValue]?
    /// Answer lists and reads from memory as long as the server allows it.
    public var cache: Bool?
    /// Cookies that the server, or a balancer in front of it, sets go back to it, and nowhere else.
    public var cookies: Bool?
    /// Connecting returns without a handshake; the first call makes it.
    public var lazy: Bool?
    /// Keep the server's optional GET stream open.
    public var listen: Bool?
    /// Every tool call carries an idempotency key.
    public var idempotencyKeys: Bool?
    /// Asked for the bearer token the first time, and once more after a 401, however many calls saw it.
    public var token: TokenProvider?
    /// The client logs in by itself, and stays logged in (OAuth 2.1). In the place of `token`.
    public var oauth: OAuth?
    /// Headers on every request.
    public var headers: [String: String] = [:]
    /// Asked for headers before each attempt; they take the place of equal names in `headers`.
    public var headerProvider: HeaderProvider?
    /// Answers `sampling/createMessage`.
    public var onSampling: RequestHandler?
    /// Answers `elicitation/create`.
    public var onElicitation: RequestHandler?
    /// Answers `roots/list`.
    public var onRoots: RequestHandler?
    /// Called for each notification of the server but progress, in order; must not block.
    public var onNotification: (@Sendable (ServerNotification) -> Void)?
    /// Called for each event, in order; must not block. `Client.events` is the same as a stream, from the moment it is asked for.
    public var onEvent: (@Sendable (Event) -> Void)?
    /// The name and version that the client gives of itself.
    public var clientInfo: ClientInfo?
    /// More root certificates, PEM, besides those of the machine.
    public var rootCertificates: Data?
    /// The certificate that the client shows.
    public var clientCertificate: Identity?
    /// The proxy, in place of the one of the environment.
    public var proxy: Proxy?
    public var httpVersion: HTTPVersion?

    /// Options that say nothing; set what you need.
    public init() {}

    /// The options that are given most; the others are set afterwards.
    public init(
        timeout: Duration? = nil, token: TokenProvider? = nil, headers: [String: String] = [:], headerProvider: HeaderProvider? = nil,
        onSampling: RequestHandler? = nil, onElicitation: RequestHandler? = nil, onRoots: RequestHandler? = nil,
        onNotification: (@Sendable (ServerNotification) -> Void)? = nil, onEvent: (@Sendable (Event) -> Void)? = nil
    ) {
        self.timeout = timeout
        self.token = token
        self.headers = headers
        self.headerProvider = headerProvider
        self.onSampling = onSampling
        self.onElicitation = onElicitation
        self.onRoots = onRoots
        self.onNotification = onNotification
        self.onEvent = onEvent
    }
}
