// How a client logs in. What is decided about it, and every default, is the core's; `docs/oauth.md` has them with their reasons.

import Foundation

/// Where logins are kept. Keys and values are texts; a value is one JSON document that only oncewire reads, and secret as a whole. What a
/// method throws makes oncewire forget no login.
public protocol LoginStore: Sendable {
    /// What was saved last under this key, by whichever process; nil if nothing was.
    func load(key: String) async throws -> String?
    /// Keeps the value, durably when this returns; nil removes what is there.
    func save(key: String, value: String?) async throws
    /// Takes the lock of this key, exclusive in all processes that share the store. Waits for it; one of a dead process is free.
    func lock(key: String) async throws
    /// Gives the lock back. It is no error if it was not held.
    func unlock(key: String) async throws
}

/// How a client logs in (OAuth 2.1, as MCP has it).
///
/// With nothing more said, `OAuth()`, it finds the authorization server, registers, opens the browser, waits on the loopback interface for
/// it to come back, stores the login in a file of the user alone, and refreshes it.
public struct OAuth: Sendable {
    /// Where logins are kept.
    public enum Store: Sendable {
        /// In memory, as long as the client lives.
        case memory
        /// In files in this folder.
        case folder(String)
        /// Yours.
        case host(any LoginStore)
    }

    /// A key in the place of a secret.
    public struct PrivateKey: Sendable {
        /// PEM of PKCS #8.
        public var pem: String
        /// `ES256` or `RS256`.
        public var algorithm: String
        public init(pem: String, algorithm: String) {
            self.pem = pem
            self.algorithm = algorithm
        }
    }

    /// The identity provider of an enterprise, with which the person is logged in (enterprise-managed authorization).
    public struct Enterprise: Sendable {
        /// Where it exchanges tokens.
        public var tokenEndpoint: String
        /// The client as it knows it.
        public var clientID: String
        /// Its secret there, if it has one.
        public var clientSecret: String?
        /// Gives the person's ID token.
        public var idToken: @Sendable () async throws -> String
        public init(
            tokenEndpoint: String, clientID: String, clientSecret: String? = nil,
            idToken: @escaping @Sendable () async throws -> String
        ) {
            self.tokenEndpoint = tokenEndpoint
            self.clientID = clientID
            self.clientSecret = clientSecret
            self.idToken = idToken
        }
    }

    /// The id of a client that was registered beforehand. Default: `clientMetadataURL`, or the client registers itself.
    public var clientID: String?
    /// Its secret. It is sent to the issuer that it was first used with, or to `issuer`, and to no other.
    public var clientSecret: String?
    /// The https URL of a document that describes the client, its id where the authorization server takes such.
    public var clientMetadataURL: String?
    /// The name under which the client registers itself. Default: oncewire.
    public var clientName: String?
    /// The authorization server to take, by its issuer. Default: the first one that the server names.
    public var issuer: String?
    /// The scopes to ask for. Default: what the server's challenge names, else what its metadata lists.
    public var scopes: [String]?
    /// Where the browser is sent after the login. Default: `http://127.0.0.1:PORT/callback`.
    public var redirectURI: String?
    /// The port of the default redirect URI. Default: a free one.
    public var redirectPort: UInt16?
    /// Whose login, where one user has several with the same server.
    public var account: String?
    /// Where logins are kept. Default: a file of the user alone.
    public var store: Store?
    /// Shows the URL at which a person logs in. Default: opens the browser.
    public var open: (@Sendable (_ url: String) async throws -> Void)?
    /// Gives the URL that the browser was redirected to, whole; it gets the one at which the person logs in. Default: a listener on the
    /// loopback interface.
    public var receive: (@Sendable (_ url: String) async throws -> String)?
    /// The client logs in for itself: no person, no browser.
    public var clientCredentials = false
    /// A key in the place of `clientSecret`.
    public var privateKey: PrivateKey?
    /// The platform vouches for the client: gives its assertion, a JWT, each time a token is asked for.
    public var workloadIdentity: (@Sendable () async throws -> String)?
    /// The identity provider of an enterprise decides.
    public var enterprise: Enterprise?
    /// Bind tokens to a key of this login (RFC 9449). An authorization server that does not offer it is refused.
    public var dpop = false
    /// Calls wait for a person to log in, within their deadline; if not they fail at once, as `auth` and `not_executed`.
    public var waitForLogin = true
    /// How long a person has. Default: 5 minutes.
    public var loginTimeout: Duration?
    /// Issuers that are used although their metadata does not list PKCE with S256.
    public var allowUnlistedPKCE: [String] = []

    /// Options that say nothing; set what you need.
    public init() {}

    /// What is plain of it, for the core.
    var given: JSONValue {
        var given: [String: JSONValue] = [
            "client_credentials": .bool(clientCredentials), "dpop": .bool(dpop), "wait_for_login": .bool(waitForLogin),
            "open": .bool(open != nil), "receive": .bool(receive != nil), "workload_identity": .bool(workloadIdentity != nil),
            "allow_unlisted_pkce": .array(allowUnlistedPKCE.map(JSONValue.string)),
        ]
        let texts = [
            "client_id": clientID, "client_secret": clientSecret, "client_metadata_url": clientMetadataURL,
            "client_name": clientName, "issuer": issuer, "redirect_uri": redirectURI, "account": account,
        ]
        for case (let name, let text?) in texts { given[name] = .string(text) }
        if let scopes { given["scopes"] = .array(scopes.map(JSONValue.string)) }
        if let redirectPort { given["redirect_port"] = .raw(String(redirectPort)) }
        switch store {
        case .memory: given["store"] = .string("memory")
        case .folder(let folder): given["folder"] = .string(folder)
        case .host: given["store"] = .string("host")
        case nil: break
        }
        if let privateKey {
            given["private_key"] = .object(["pem": .string(privateKey.pem), "algorithm": .string(privateKey.algorithm)])
        }
        if let enterprise {
            given["enterprise"] = .object([
                "token_endpoint": .string(enterprise.tokenEndpoint), "client_id": .string(enterprise.clientID),
                "client_secret": enterprise.clientSecret.map(JSONValue.string) ?? .null,
            ])
        }
        if let loginTimeout {
            let span = loginTimeout.span
            given["login_timeout_ms"] = .raw(String(span.seconds * 1_000 + UInt64(span.nanoseconds / 1_000_000)))
        }
        return .object(given)
    }

    /// Answers what the core asks for.
    func answer(_ question: JSONValue) async throws -> JSONValue {
        let text = { (name: String) in question[name]?.stringValue ?? "" }
        switch text("ask") {
        case "open":
            try await open?(text("url"))
            return .null
        case "receive":
            guard let receive else { return .null }
            return .string(try await receive(text("url")))
        case "workload_identity":
            guard let workloadIdentity else { return .null }
            return .string(try await workloadIdentity())
        case "id_token":
            guard let enterprise else { return .null }
            return .string(try await enterprise.idToken())
        default:
            return try await answer(ask: text("ask"), key: text("key"), value: question["value"]?.stringValue)
        }
    }

    private func answer(ask: String, key: String, value: String?) async throws -> JSONValue {
        guard case .host(let store) = store else { return .null }
        switch ask {
        case "load": return try await store.load(key: key).map(JSONValue.string) ?? .null
        case "save": try await store.save(key: key, value: value)
        case "lock": try await store.lock(key: key)
        default: try await store.unlock(key: key)
        }
        return .null
    }
}
