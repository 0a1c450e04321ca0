// The methods of MCP. All take `timeout` and `options`; what both leave out is taken from the tool, then from the client. All throw
// `OncewireError`, or `CancellationError` when the task is cancelled.

internal import OncewireNative

extension Client {
    /// `tools/list`: all pages, unless a cursor is given.
    public func listTools(
        cursor: String? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(), params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> ListToolsResult {
        try await result {
            native.listTools(
                cursor: cursor, options: options.native(timeout), params: params.map { JSONValue.object($0).jsonText },
                onProgress: onProgress.map(ProgressHook.init))
        }
    }

    /// `resources/list`: all pages, unless a cursor is given.
    public func listResources(
        cursor: String? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(), params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> ListResourcesResult {
        try await result {
            native.listResources(
                cursor: cursor, options: options.native(timeout), params: params.map { JSONValue.object($0).jsonText },
                onProgress: onProgress.map(ProgressHook.init))
        }
    }

    /// `resources/templates/list`: all pages, unless a cursor is given.
    public func listResourceTemplates(
        cursor: String? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(), params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> ListResourceTemplatesResult {
        try await result {
            native.listResourceTemplates(
                cursor: cursor, options: options.native(timeout), params: params.map { JSONValue.object($0).jsonText },
                onProgress: onProgress.map(ProgressHook.init))
        }
    }

    /// `prompts/list`: all pages, unless a cursor is given.
    public func listPrompts(
        cursor: String? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(), params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> ListPromptsResult {
        try await result {
            native.listPrompts(
                cursor: cursor, options: options.native(timeout), params: params.map { JSONValue.object($0).jsonText },
                onProgress: onProgress.map(ProgressHook.init))
        }
    }

    /// `tools/call`, with a JSON object as arguments.
    ///
    /// - Parameters:
    ///   - timeout: the whole call.
    ///   - idempotencyKey: the key under which the server sees all attempts, in place of one that is made.
    ///   - meta: more members of `_meta`, for example `traceparent`; the same in all attempts.
    ///   - params: more members of the params, exact.
    ///   - onProgress: called for each progress notification, in order and before the result; must not block.
    public func callTool(
        name: String, arguments: JSONValue? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(),
        idempotencyKey: IdempotencyKey? = nil, meta: [String: JSONValue]? = nil, params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> CallToolResult {
        let extras = CallExtras(idempotencyKey, meta, params, onProgress)
        return try await result {
            native.callTool(name: name, arguments: arguments?.jsonText, options: options.native(timeout), extras: extras)
        }
    }

    /// `tools/call`, with any `Encodable` value as arguments. What encoding throws is thrown as it is: nothing was sent.
    @_disfavoredOverload
    public func callTool(
        name: String, arguments: some Encodable & Sendable, timeout: Duration? = nil, options: CallOptions = CallOptions(),
        idempotencyKey: IdempotencyKey? = nil, meta: [String: JSONValue]? = nil, params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> CallToolResult {
        let arguments = try JSONValue(encoding: arguments)
        return try await callTool(
            name: name, arguments: arguments, timeout: timeout, options: options, idempotencyKey: idempotencyKey, meta: meta,
            params: params, onProgress: onProgress)
    }

    /// `resources/read`
    public func readResource(
        uri: String, timeout: Duration? = nil, options: CallOptions = CallOptions(), meta: [String: JSONValue]? = nil,
        params: [String: JSONValue]? = nil, onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> ReadResourceResult {
        let extras = CallExtras(nil, meta, params, onProgress)
        return try await result { native.readResource(uri: uri, options: options.native(timeout), extras: extras) }
    }

    /// `prompts/get`
    public func getPrompt(
        name: String, arguments: [String: String]? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(),
        meta: [String: JSONValue]? = nil, params: [String: JSONValue]? = nil,
        onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> GetPromptResult {
        let extras = CallExtras(nil, meta, params, onProgress)
        let arguments = arguments.map { JSONValue.object($0.mapValues(JSONValue.string)).jsonText }
        return try await result {
            native.getPrompt(name: name, arguments: arguments, options: options.native(timeout), extras: extras)
        }
    }

    /// `completion/complete`: what to complete (`["type": "ref/prompt", "name": …]`), the name of its argument, what was typed, and the
    /// arguments that are settled already.
    public func complete(
        reference: JSONValue, argument: String, value: String, context: JSONValue? = nil, timeout: Duration? = nil,
        options: CallOptions = CallOptions(), meta: [String: JSONValue]? = nil
    ) async throws -> CompleteResult {
        let extras = CallExtras(nil, meta, nil, nil)
        return try await result {
            native.complete(
                reference: reference.jsonText, argument: argument, value: value, context: context?.jsonText,
                options: options.native(timeout), extras: extras)
        }
    }

    /// `ping`
    public func ping(timeout: Duration? = nil, options: CallOptions = CallOptions()) async throws {
        _ = try await settle { native.ping(options: options.native(timeout)) }
    }

    /// `logging/setLevel`; the level is set again on each new session.
    public func setLogLevel(_ level: String, timeout: Duration? = nil, options: CallOptions = CallOptions()) async throws {
        _ = try await settle { native.setLogLevel(level: level, options: options.native(timeout)) }
    }

    /// `resources/subscribe`; the subscription is made again on each new session.
    public func subscribe(uri: String, timeout: Duration? = nil, options: CallOptions = CallOptions()) async throws {
        _ = try await settle { native.subscribe(uri: uri, options: options.native(timeout)) }
    }

    /// `resources/unsubscribe`
    public func unsubscribe(uri: String, timeout: Duration? = nil, options: CallOptions = CallOptions()) async throws {
        _ = try await settle { native.unsubscribe(uri: uri, options: options.native(timeout)) }
    }

    /// Any other request. Nothing is known of it, so it is never repeated after an ambiguous loss unless `resend` says so.
    public func request(
        method: String, params: JSONValue? = nil, timeout: Duration? = nil, options: CallOptions = CallOptions(),
        meta: [String: JSONValue]? = nil, onProgress: (@Sendable (ProgressUpdate) -> Void)? = nil
    ) async throws -> JSONValue {
        let extras = CallExtras(nil, meta, nil, onProgress)
        let json = try await settle {
            native.request(method: method, params: params?.jsonText, options: options.native(timeout), extras: extras)
        }
        return JSONValue(core: json)
    }

    private func result<T: JSONBacked>(_ start: () -> PendingCall) async throws -> T {
        T(json: JSONValue(core: try await settle(start)))
    }
}

extension CallOptions {
    func native(_ timeout: Duration?) -> OncewireNative.CallOptions {
        var options = self
        options.timeout = timeout ?? options.timeout
        return options.native
    }
}

extension CallExtras {
    init(
        _ idempotencyKey: IdempotencyKey?, _ meta: [String: JSONValue]?, _ params: [String: JSONValue]?,
        _ onProgress: (@Sendable (ProgressUpdate) -> Void)?
    ) {
        self.init(
            idempotencyKey: idempotencyKey?.native, meta: meta.map { JSONValue.object($0).jsonText },
            params: params.map { JSONValue.object($0).jsonText }, onProgress: onProgress.map(ProgressHook.init))
    }
}
