//! The two documents by which a client finds its way.

use serde_json::{Value, json};

use super::authority::overridden;
use super::options::{Authorization, Protected, RefreshTokens};

/// Scheme, host and port of an MCP endpoint.
pub(super) fn origin(url: &str) -> &str {
    url.strip_suffix("/mcp").unwrap_or(url)
}

pub(super) fn issuer(options: &Authorization, url: &str) -> String {
    format!("{}{}", origin(url), options.issuer_path)
}

/// RFC 8414.
pub(super) fn of_server(options: &Authorization, url: &str) -> Value {
    let at = |path: &str| format!("{}{}{path}", origin(url), options.issuer_path);
    let mut grants = vec!["authorization_code", "client_credentials"];
    if options.refresh_tokens != RefreshTokens::None {
        grants.push("refresh_token");
    }
    let mut metadata = json!({
        "issuer": issuer(options, url),
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at("/token"),
        "revocation_endpoint": at("/revoke"),
        "response_types_supported": ["code"],
        "grant_types_supported": grants,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": options.auth_methods,
        "authorization_response_iss_parameter_supported": options.tells_issuer,
    });
    if options.registration {
        metadata["registration_endpoint"] = Value::from(at("/register"));
    }
    if options.client_id_metadata {
        metadata["client_id_metadata_document_supported"] = Value::from(true);
    }
    if !options.scopes.is_empty() {
        metadata["scopes_supported"] = json!(options.scopes);
    }
    if options.dpop {
        metadata["dpop_signing_alg_values_supported"] = json!(["ES256"]);
    }
    overridden(metadata, &options.metadata)
}

/// RFC 9728.
pub(super) fn of_resource(options: &Protected, url: &str, issuer: &str) -> Value {
    let mut metadata = json!({"resource": url, "authorization_servers": [issuer]});
    if !options.scopes.is_empty() {
        metadata["scopes_supported"] = json!(options.scopes);
    }
    overridden(metadata, &options.metadata)
}
