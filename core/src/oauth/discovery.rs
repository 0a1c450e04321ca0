//! Who gives tokens for this server: the metadata of the resource (RFC 9728), then that of its authorization server (RFC 8414, OpenID
//! Connect Discovery), as MCP 2026-07-28, basic, authorization, orders them; and what servers of 2025-03-26 did before there was either.
//!
//! Strings stay as they are written: issuer and resource are compared, and sent on, byte by byte.

use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::classify::{self, Metadata};
use super::error::LoginError;
use super::fetch::Fetch;
use crate::vocabulary::redact::address;

const OF_RESOURCE: &str = "oauth-protected-resource";
const OF_SERVER: &str = "oauth-authorization-server";
const OF_OPENID: &str = "openid-configuration";

/// The metadata of a resource.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResourceMetadata {
    resource: String,
    authorization_servers: Vec<String>,
    scopes_supported: Vec<String>,
}

/// What is used of the metadata of an authorization server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Vec<String>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Vec<String>,
    pub(crate) client_id_metadata_document_supported: bool,
    pub(crate) authorization_response_iss_parameter_supported: bool,
    pub(crate) dpop_signing_alg_values_supported: Vec<String>,
}

/// Who gives tokens, and for what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The resource, as its metadata writes it; none of a server without.
    pub(crate) resource: Option<String>,
    /// The scopes that the resource knows.
    pub(crate) scopes_supported: Vec<String>,
    pub(crate) server: ServerMetadata,
    /// The authorization server has no metadata: its endpoints are where 2025-03-26 says.
    pub(crate) assumed: bool,
}

/// Finds out who gives tokens for the server at this URL. `named` is where its challenge says that the metadata is; `wanted` the issuer to
/// take where there are several.
pub(crate) async fn discover(
    fetch: &Fetch,
    server: &Url,
    named: Option<&str>,
    wanted: &[&str],
) -> Result<Found, LoginError> {
    let Some(resource) = resource_metadata(fetch, server, named).await? else {
        let (server, assumed) = of_origin(fetch, server).await?;
        return Ok(Found { resource: None, scopes_supported: Vec::new(), server, assumed });
    };
    if !covers(&resource.resource, server) {
        let named = classify::said(&resource.resource);
        let ours = address(server);
        return Err(LoginError::lasting(format!(
            "the metadata of the resource is of {named:?}, which is not {ours}: no login is asked for with it"
        )));
    }
    let issuers = &resource.authorization_servers;
    let chosen = wanted.iter().find_map(|wanted| issuers.iter().find(|issuer| issuer == wanted)).or(issuers.first());
    let (metadata, assumed) = match chosen {
        Some(issuer) => (server_metadata(fetch, issuer).await?, false),
        None => of_origin(fetch, server).await?,
    };
    Ok(Found {
        resource: Some(resource.resource),
        scopes_supported: resource.scopes_supported,
        server: metadata,
        assumed,
    })
}

/// Where the metadata of a resource may be: for its path, then for its origin (RFC 9728, section 3.1).
fn places_of_resource(server: &Url) -> Vec<Url> {
    let mut places = vec![inserted(server, OF_RESOURCE)];
    places.push(at_root(server, OF_RESOURCE));
    places.dedup();
    places
}

async fn resource_metadata(
    fetch: &Fetch,
    server: &Url,
    named: Option<&str>,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let named = named.and_then(|named| Url::parse(named).ok());
    let found = first(fetch, named.into_iter().chain(places_of_resource(server))).await?;
    Ok(found.map(|(metadata, _)| metadata))
}

/// The metadata at the first of the places that has any, and that place. Trouble at one of them is not passed over: what would have been
/// there is not known.
async fn first<T: for<'de> Deserialize<'de>>(
    fetch: &Fetch,
    places: impl IntoIterator<Item = Url>,
) -> Result<Option<(T, Url)>, LoginError> {
    for place in places {
        match classify::metadata(fetch.get(&place).await) {
            Metadata::Document(document) => return Ok(Some((read(document, &place)?, place))),
            Metadata::Absent => {}
            Metadata::Trouble(reason) => return Err(trouble(&place, &reason)),
        }
    }
    Ok(None)
}

/// Is the resource our server, or something that it is part of: the same origin, and a path that ours begins with, stroke by stroke?
fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    if resource.origin() != server.origin() || resource.fragment().is_some() {
        return false;
    }
    let whole = resource.path().trim_end_matches('/');
    server.path().strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The metadata of the authorization server with this issuer.
async fn server_metadata(fetch: &Fetch, issuer: &str) -> Result<ServerMetadata, LoginError> {
    let said = classify::said(issuer);
    let url = Url::parse(issuer).map_err(|_| {
        LoginError::lasting(format!("the server names {said:?} as its authorization server, which is no URL"))
    })?;
    let Some((metadata, place)) = first::<ServerMetadata>(fetch, places_of_server(&url)).await? else {
        return Err(LoginError::lasting(format!("the authorization server {said:?} has no metadata")));
    };
    // RFC 8414, section 3.3: identical, or nothing of it is used.
    if metadata.issuer != issuer {
        return Err(of_another(&metadata, &place, &said));
    }
    Ok(metadata)
}

/// The metadata at this place is not of the issuer that was asked for.
fn of_another(metadata: &ServerMetadata, place: &Url, issuer: &str) -> LoginError {
    let (at, other) = (address(place), classify::said(&metadata.issuer));
    LoginError::lasting(format!("{at} is the metadata of {other:?}, not of {issuer:?}"))
}

/// Where the metadata of an issuer may be, in the order of MCP 2026-07-28, basic, authorization, server metadata discovery.
fn places_of_server(issuer: &Url) -> Vec<Url> {
    let mut places = vec![inserted(issuer, OF_SERVER), inserted(issuer, OF_OPENID)];
    if !issuer.path().trim_end_matches('/').is_empty() {
        let mut appended = bare(issuer);
        appended.set_path(&format!("{}/.well-known/{OF_OPENID}", issuer.path().trim_end_matches('/')));
        places.push(appended);
    }
    places
}

/// MCP 2025-03-26, basic, authorization: the server's own origin is the authorization server, and has its endpoints at fixed places if it
/// has no metadata. True if it has none.
async fn of_origin(fetch: &Fetch, server: &Url) -> Result<(ServerMetadata, bool), LoginError> {
    let issuer = server.origin().ascii_serialization();
    let places = [at_root(server, OF_SERVER), at_root(server, OF_OPENID)];
    if let Some((metadata, place)) = first::<ServerMetadata>(fetch, places).await? {
        // The issuer is not named by anybody: what answers at the origin is asked itself, and a stroke at the end is no other.
        if metadata.issuer.trim_end_matches('/') != issuer {
            return Err(of_another(&metadata, &place, &issuer));
        }
        return Ok((metadata, false));
    }
    let endpoint = |path: &str| Some(format!("{issuer}/{path}"));
    let assumed = ServerMetadata {
        authorization_endpoint: endpoint("authorize"),
        token_endpoint: endpoint("token"),
        registration_endpoint: endpoint("register"),
        issuer: issuer.clone(),
        ..ServerMetadata::default()
    };
    Ok((assumed, true))
}

fn read<T: for<'de> Deserialize<'de>>(document: Map<String, Value>, place: &Url) -> Result<T, LoginError> {
    // Null is as good as nothing.
    let document = document.into_iter().filter(|(_, value)| !value.is_null()).collect();
    serde_json::from_value(Value::Object(document))
        .map_err(|error| trouble(place, &format!("the metadata cannot be read: {error}")))
}

fn trouble(place: &Url, reason: &str) -> LoginError {
    let at = address(place);
    let reason = if reason.starts_with(&at) { reason.to_owned() } else { format!("{at}: {reason}") };
    LoginError::passing(reason)
}

/// The well-known place with the path of the URL behind it.
fn inserted(url: &Url, name: &str) -> Url {
    let mut place = bare(url);
    place.set_path(&format!("/.well-known/{name}{}", url.path().trim_end_matches('/')));
    place
}

fn at_root(url: &Url, name: &str) -> Url {
    let mut place = bare(url);
    place.set_path(&format!("/.well-known/{name}"));
    place
}

fn bare(url: &Url) -> Url {
    let mut bare = url.clone();
    bare.set_query(None);
    bare.set_fragment(None);
    bare
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn where_the_metadata_of_a_resource_may_be() {
        assert_eq!(
            texts(&places_of_resource(&url("https://a.example/x/mcp?key=1"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/x/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(places_of_resource(&url("https://a.example/")).len(), 1);
    }

    #[test]
    fn where_the_metadata_of_an_issuer_may_be() {
        assert_eq!(
            texts(&places_of_server(&url("https://a.example/tenant1"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant1",
                "https://a.example/.well-known/openid-configuration/tenant1",
                "https://a.example/tenant1/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(&places_of_server(&url("https://a.example"))),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
    }

    #[test_case("https://a.example/x/mcp", true; "the same")]
    #[test_case("https://a.example/x/mcp/", true; "with a stroke more")]
    #[test_case("https://a.example/x", true; "a part of the path")]
    #[test_case("https://a.example", true; "the origin")]
    #[test_case("https://A.example:443/x", true; "the origin in other letters")]
    #[test_case("https://a.example/x/m", false; "half a part of the path")]
    #[test_case("https://a.example/x/mcp/y", false; "a longer path")]
    #[test_case("http://a.example/x/mcp", false; "without TLS")]
    #[test_case("https://evil.example/x/mcp", false; "another host")]
    #[test_case("https://a.example.evil.example/x/mcp", false; "a host that begins like ours")]
    #[test_case("https://a.example/x/mcp#f", false; "with a fragment")]
    #[test_case("", false; "nothing")]
    fn which_resource_covers_our_server(resource: &str, expected: bool) {
        assert_eq!(covers(resource, &url("https://a.example/x/mcp")), expected);
    }
}
