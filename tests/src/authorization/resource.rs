//! What a resource refuses that is protected by an authorization server.

use std::time::Instant;

use super::authority::Authority;
use super::dpop::{self, Proved};
use super::metadata;
use super::options::Protected;
use crate::server::Respond;
use crate::server::request::{Request, Rpc};

/// Why a request is refused.
struct Refusal {
    status: u16,
    scheme: &'static str,
    error: Option<&'static str>,
    /// For the ledger.
    why: &'static str,
    nonce: Option<String>,
}

/// The refusal of this request to the resource at `url`, if it is to be refused.
pub(crate) fn refuse(
    protected: &Protected,
    authority: &Authority,
    request: &Request,
    rpc: Option<&Rpc>,
    url: &str,
) -> Option<Respond> {
    let method = rpc.and_then(|rpc| rpc.method.as_deref()).unwrap_or_default();
    if protected.open.iter().any(|open| open == method) {
        return None;
    }
    let tool = rpc.filter(|_| method == "tools/call").and_then(|rpc| rpc.name.as_deref());
    let of_tool = tool.and_then(|tool| protected.tools.get(tool)).into_iter().flatten();
    let needed: Vec<_> = protected.scopes.iter().chain(of_tool).map(String::as_str).collect();
    let refused = check(authority, protected.dpop_nonce, request, &needed, url);
    let mut book = authority.book();
    let Err(refusal) = refused else {
        book.ledger.accepted += 1;
        return None;
    };
    book.ledger.refused.push(refusal.why.to_owned());
    let mut challenge = Vec::new();
    if let Some(error) = refusal.error {
        challenge.push(format!("error=\"{error}\""));
    }
    if protected.names_scopes && !needed.is_empty() {
        challenge.push(format!("scope=\"{}\"", needed.join(" ")));
    }
    if let Some(path) = protected.metadata_paths.first().filter(|_| protected.names_metadata) {
        challenge.push(format!("resource_metadata=\"{}{path}\"", metadata::origin(url)));
    }
    let challenge = format!("{} {}", refusal.scheme, challenge.join(", "));
    let mut headers: std::collections::BTreeMap<_, _> =
        [("WWW-Authenticate".to_owned(), challenge.trim_end().to_owned())].into();
    headers.extend(refusal.nonce.map(|nonce| ("DPoP-Nonce".to_owned(), nonce)));
    Some(Respond { status: refusal.status, headers, ..Respond::default() })
}

fn check(
    authority: &Authority,
    wants_nonce: bool,
    request: &Request,
    needed: &[&str],
    url: &str,
) -> Result<(), Refusal> {
    let invalid = |scheme, why| Refusal { status: 401, scheme, error: Some("invalid_token"), why, nonce: None };
    let field = request.header("authorization").unwrap_or_default();
    let (scheme, text) = match field.split_once(' ') {
        Some((scheme, text)) if scheme.eq_ignore_ascii_case("bearer") => ("Bearer", text),
        Some((scheme, text)) if scheme.eq_ignore_ascii_case("dpop") => ("DPoP", text),
        _ => return Err(Refusal { status: 401, scheme: "Bearer", error: None, why: "none", nonce: None }),
    };
    let book = authority.book();
    let token = book.access_tokens.get(text).ok_or_else(|| invalid(scheme, "unknown"))?;
    if token.expires <= Instant::now() {
        return Err(invalid(scheme, "expired"));
    }
    let login = book.ledger.logins.get(token.login).filter(|login| login.revoked.is_none());
    let login = login.ok_or_else(|| invalid(scheme, "revoked"))?;
    if login.resource.as_deref().is_some_and(|resource| !url.starts_with(resource)) {
        return Err(invalid(scheme, "resource"));
    }
    if let Some(thumbprint) = &token.thumbprint {
        let nonce = wants_nonce.then(|| book.nonce());
        match dpop::check(request, url, Some(text), nonce.as_deref()) {
            Proved::By(key) if key == *thumbprint && scheme == "DPoP" => {}
            Proved::NoNonce => {
                let error = Some("use_dpop_nonce");
                return Err(Refusal { status: 401, scheme: "DPoP", error, why: "nonce", nonce });
            }
            _ => return Err(invalid("DPoP", "proof")),
        }
    }
    let has: Vec<_> = login.scope.split(' ').collect();
    if needed.iter().all(|scope| has.contains(scope)) {
        return Ok(());
    }
    Err(Refusal { status: 403, scheme, error: Some("insufficient_scope"), why: "scope", nonce: None })
}
