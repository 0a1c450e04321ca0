// The options on their way to the core, field by field.

import Foundation
internal import OncewireNative

extension Duration {
    /// Never below zero: there is no such length of time, and what zero means is the core's to say.
    var span: Span {
        let (seconds, attoseconds) = components
        if seconds < 0 || attoseconds < 0 { return Span(seconds: 0, nanoseconds: 0) }
        // Rounded up: the shortest time is not none.
        let nanoseconds = (attoseconds + 999_999_999) / 1_000_000_000
        return Span(
            seconds: UInt64(seconds) + UInt64(nanoseconds / 1_000_000_000), nanoseconds: UInt32(nanoseconds % 1_000_000_000))
    }
}

extension Resend {
    var native: ResendOption {
        switch self {
        case .always: .always
        case .default: .`default`
        case .never: .never
        }
    }
}

extension CallOptions {
    var native: OncewireNative.CallOptions {
        OncewireNative.CallOptions(
            timeout: timeout?.span, idleTimeout: idleTimeout?.span, resetOnProgress: resetOnProgress,
            maxTotalTimeout: maxTotalTimeout?.span, resend: resend?.native)
    }
}

extension IdempotencyKey {
    var native: OncewireNative.IdempotencyKey {
        switch self {
        case .given(let key): .given(key: key)
        case .off: .off
        }
    }
}

extension ClientOptions {
    var native: OncewireNative.ClientOptions {
        OncewireNative.ClientOptions(
            timeout: timeout?.span,
            idleTimeout: idleTimeout?.span,
            resetOnProgress: resetOnProgress,
            maxTotalTimeout: maxTotalTimeout?.span,
            resend: resend?.native,
            toolOptions: toolOptions.mapValues(\.native),
            orphanTimeout: orphanTimeout?.span,
            connectTimeout: connectTimeout?.span,
            connectPatience: connectPatience?.span,
            handshakeTimeout: handshakeTimeout?.span,
            closeTimeout: closeTimeout?.span,
            retryAfterMax: retryAfterMax?.span,
            backoff: backoff.map { BackoffOption(first: $0.first.span, max: $0.max.span) },
            retryBudget: retryBudget.map { RetryBudgetOption(percent: $0.percent, perSecond: UInt32(clamping: $0.perSecond)) },
            maxMessage: maxMessage.map(UInt64.init(clamping:)),
            maxEvent: maxEvent.map(UInt64.init(clamping:)),
            maxPages: maxPages.map(UInt64.init(clamping:)),
            poolIdleTimeout: poolIdleTimeout?.span,
            freshConnection: freshConnection,
            tcpKeepAlive: tcpKeepAlive.map { KeepAliveOption(interval: $0.interval.span, retries: UInt32(clamping: $0.retries)) },
            http2Ping: http2Ping.map { PingOption(interval: $0.interval.span, timeout: $0.timeout.span) },
            trustAnnotations: trustAnnotations.map {
                switch $0 {
                case .none: .none
                case .readOnly: .readOnly
                case .hinted: .hinted
                }
            },
            recovery: recovery.map {
                switch $0 {
                case .auto: .auto
                case .surface: .surface
                case .off: .off
                }
            },
            era: era.map {
                switch $0 {
                case .auto: .auto
                case .legacy: .legacy
                case .modern: .modern
                }
            },
            extensions: extensions.map { JSONValue.object($0).jsonText },
            cache: cache,
            cookies: cookies,
            lazy: lazy,
            listen: listen,
            idempotencyKeys: idempotencyKeys,
            tokenProvider: token.map { AsyncHook($0) },
            oauth: oauth.map(\.given.jsonText),
            oauthHook: oauth.map { AsyncHook(oauth: $0) },
            headers: headers.sorted { $0.key < $1.key }.map { HeaderOption(name: $0.key, value: $0.value) },
            headerProvider: headerProvider.map { AsyncHook(headers: $0) },
            onSampling: onSampling.map { AsyncHook(handler: $0) },
            onElicitation: onElicitation.map { AsyncHook(handler: $0) },
            onRoots: onRoots.map { AsyncHook(handler: $0) },
            onNotification: onNotification.map(NotificationHook.init),
            onEvent: onEvent.map(EventHook.init),
            clientInfo: clientInfo.map { ClientInfoOption(name: $0.name, version: $0.version) },
            rootCertificates: rootCertificates,
            clientCertificate: clientCertificate.map { ClientIdentityOption(chainPem: $0.chainPEM, keyPem: $0.keyPEM) },
            proxy: proxy.map {
                switch $0 {
                case .url(let url): .url(url: url)
                case .none: .none
                }
            },
            httpVersion: httpVersion.map {
                switch $0 {
                case .http1: .http1
                case .http2: .http2
                }
            })
    }
}
