//! The challenge of an answer (`WWW-Authenticate`): whose it is, and what it asks for.
//!
//! A 401 or 403 can come from the server, from a gateway before it, or from a service that a tool has called and whose answer the server
//! relays. Only a challenge that names the metadata of our own resource (RFC 9728, section 5.1) is known to speak of our own login.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use http_auth::{ChallengeRef, parse_challenges};
use url::Url;

/// The path under which a resource's metadata is found (RFC 9728, section 3.1).
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// What a challenge that names our own resource asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// A login, or another token.
    Token,
    /// A token with more scopes (RFC 6750, section 3.1).
    Scope,
    /// A proof of possession with the nonce that it gives (RFC 9449, section 8).
    Nonce,
}

/// What a challenge asks for, as it is written: nobody has looked yet at whose it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Where the metadata of the resource is said to be (RFC 9728, section 5.1).
    pub(crate) metadata: Option<String>,
    /// The scopes that are wanted, parted by spaces (RFC 6750, section 3).
    pub(crate) scope: Option<String>,
    /// Why the request was refused.
    pub(crate) error: Option<String>,
}

/// The first challenge of OAuth in these headers.
pub(crate) fn asked(headers: &HeaderMap) -> Option<Asked> {
    headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).find_map(|value| {
        let challenges = parse_challenges(value).ok()?;
        let challenge = challenges.iter().find(|challenge| is_oauth(challenge))?;
        let parameter = |name| parameter(challenge, name).filter(|value| !value.is_empty());
        Some(Asked { metadata: parameter("resource_metadata"), scope: parameter("scope"), error: parameter("error") })
    })
}

/// The challenge of this answer to a request for `url`, if it names our own resource.
pub(crate) fn own_challenge(headers: &HeaderMap, url: &Url) -> Option<Challenge> {
    headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).find_map(|value| {
        let challenges = parse_challenges(value).ok()?;
        challenges.iter().filter(|challenge| is_oauth(challenge)).find_map(|challenge| of_ours(challenge, url))
    })
}

fn is_oauth(challenge: &ChallengeRef<'_>) -> bool {
    ["bearer", "dpop"].iter().any(|scheme| challenge.scheme.eq_ignore_ascii_case(scheme))
}

fn parameter(challenge: &ChallengeRef<'_>, name: &str) -> Option<String> {
    let named = challenge.params.iter().find(|(parameter, _)| parameter.eq_ignore_ascii_case(name));
    named.map(|(_, value)| value.to_unescaped())
}

fn of_ours(challenge: &ChallengeRef<'_>, url: &Url) -> Option<Challenge> {
    let parameter = |name| parameter(challenge, name);
    let metadata = Url::parse(&parameter("resource_metadata")?).ok()?;
    if !is_metadata_of(&metadata, url) {
        return None;
    }
    Some(match parameter("error").as_deref() {
        Some("insufficient_scope") => Challenge::Scope,
        Some("use_dpop_nonce") => Challenge::Nonce,
        _ => Challenge::Token,
    })
}

/// Is this where the metadata of the resource at `url` is found: at its origin, for its path or for the whole origin?
fn is_metadata_of(metadata: &Url, url: &Url) -> bool {
    let Some(rest) = metadata.path().strip_prefix(WELL_KNOWN) else { return false };
    let path = |path: &str| path.trim_end_matches('/').to_owned();
    metadata.origin() == url.origin() && (path(rest).is_empty() || path(rest) == path(url.path()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use test_case::test_case;

    use super::*;

    fn read(value: &str) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"x\""));
        headers.append(WWW_AUTHENTICATE, HeaderValue::from_str(value).unwrap());
        own_challenge(&headers, &Url::parse("https://mcp.example/a/mcp").unwrap())
    }

    const AT: &str = "https://mcp.example/.well-known/oauth-protected-resource";

    #[test_case("", Some(Challenge::Token); "for the origin")]
    #[test_case("/a/mcp", Some(Challenge::Token); "for the path")]
    #[test_case("/a/mcp/", Some(Challenge::Token); "with a slash more")]
    #[test_case("/other", None; "for another resource of the origin")]
    fn the_metadata_is_that_of_our_resource(path: &str, expected: Option<Challenge>) {
        assert_eq!(read(&format!("Bearer resource_metadata=\"{AT}{path}\"")), expected);
    }

    #[test]
    fn what_it_asks_for() {
        let with = |error: &str| read(&format!("Bearer error=\"{error}\", resource_metadata=\"{AT}\""));
        assert_eq!(with("invalid_token"), Some(Challenge::Token));
        assert_eq!(with("insufficient_scope"), Some(Challenge::Scope));
        assert_eq!(read(&format!("DPoP error=\"use_dpop_nonce\", resource_metadata=\"{AT}\"")), Some(Challenge::Nonce));
    }

    #[test_case("Bearer"; "no parameters")]
    #[test_case("Bearer realm=\"upstream\", error=\"invalid_token\""; "no resource")]
    #[test_case("Bearer resource_metadata=\"https://upstream.example/.well-known/oauth-protected-resource\""; "of another origin")]
    #[test_case("Bearer resource_metadata=\"https://mcp.example/elsewhere\""; "not where metadata is")]
    #[test_case("Bearer resource_metadata=\"no url\""; "no url")]
    #[test_case("=,=\""; "no challenge at all")]
    fn what_is_not_ours(value: &str) {
        assert_eq!(read(value), None);
    }
}
