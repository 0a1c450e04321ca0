//! As whom the client logs in: registered beforehand, named by a document of its own (CIMD), or registered by itself (RFC 7591), in this
//! order (MCP 2026-07-28, basic, authorization, client registration).

use std::time::SystemTime;

use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::classify;
use super::discovery::{Found, ServerMetadata};
use super::error::LoginError;
use super::fetch::Fetch;
use super::options::OAuth;
use super::record::{Record, Registration, seconds_of};

/// The client that the options name, for this issuer; `None` if they name none.
///
/// # Errors
/// Its secret belongs to another issuer.
pub(crate) fn registered_beforehand(
    oauth: &OAuth,
    record: &mut Record,
    issuer: &str,
) -> Result<Option<Registration>, LoginError> {
    let Some(client_id) = &oauth.client_id else { return Ok(None) };
    let of = oauth.issuer.as_deref().or(record.secret_of.as_deref());
    let is_confidential = oauth.client_secret.is_some() || oauth.signing_key.is_some();
    if let Some(of) = of.filter(|of| *of != issuer && (is_confidential || oauth.issuer.is_some())) {
        let (of, other) = (classify::said(of), classify::said(issuer));
        return Err(LoginError::lasting(format!(
            "the client is registered with {of:?}, and the server now names {other:?}: its credentials are not sent there"
        )));
    }
    if is_confidential {
        record.secret_of = Some(issuer.to_owned());
    }
    Ok(Some(Registration {
        client_id: client_id.clone(),
        client_secret: oauth.client_secret.clone(),
        auth_method: None,
        redirect_uri: None,
        secret_expires_at: None,
    }))
}

/// The client to log in as, which is redirected there.
///
/// # Errors
/// It cannot be registered.
pub(crate) async fn client(
    fetch: &Fetch,
    oauth: &OAuth,
    record: &mut Record,
    found: &Found,
    redirect_uri: &str,
) -> Result<Registration, LoginError> {
    let server = &found.server;
    if let Some(client) = registered_beforehand(oauth, record, &server.issuer)? {
        return Ok(client);
    }
    if let Some(url) = oauth.client_metadata_url.as_ref().filter(|_| server.client_id_metadata_document_supported) {
        return Ok(Registration::by_document(url));
    }
    let now = seconds_of(SystemTime::now());
    let is_good = |known: &&Registration| {
        known.redirect_uri.as_deref() == Some(redirect_uri)
            && known.secret_expires_at.is_none_or(|end| end == 0 || end > now)
    };
    if let Some(known) = record.clients.get(&server.issuer).filter(is_good) {
        return Ok(known.clone());
    }
    let client = register(fetch, oauth, server, redirect_uri).await?;
    record.clients.insert(server.issuer.clone(), client.clone());
    Ok(client)
}

/// The method to register with: as a public client if the server takes such.
fn method(server: &ServerMetadata) -> &str {
    let supported = server.token_endpoint_auth_methods_supported.as_deref().unwrap_or_default();
    ["none", "client_secret_basic", "client_secret_post"]
        .into_iter()
        .find(|method| supported.iter().any(|supported| supported == method))
        .unwrap_or("none")
}

async fn register(
    fetch: &Fetch,
    oauth: &OAuth,
    server: &ServerMetadata,
    redirect_uri: &str,
) -> Result<Registration, LoginError> {
    #[derive(Deserialize)]
    struct Registered {
        client_id: String,
        #[serde(default)]
        client_secret: Option<String>,
        #[serde(default)]
        token_endpoint_auth_method: Option<String>,
        #[serde(default)]
        client_secret_expires_at: Option<u64>,
    }
    let issuer = classify::said(&server.issuer);
    let Some(endpoint) = &server.registration_endpoint else {
        return Err(LoginError::lasting(format!(
            "the authorization server {issuer:?} registers no clients: give client_id, or client_metadata_url"
        )));
    };
    let endpoint = Url::parse(endpoint)
        .map_err(|_| LoginError::lasting(format!("the registration endpoint of {issuer:?} is not a URL")))?;
    let document = json!({
        "client_name": oauth.client_name.as_deref().unwrap_or("oncewire"),
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method(server),
        "application_type": application_type(redirect_uri),
    });
    let body = Bytes::from(document.to_string());
    let fetched = fetch.post(&endpoint, "application/json", HeaderMap::new(), body).await;
    let fetched = classify::registration(fetched).map_err(|(reason, passing)| {
        let reason = format!("the authorization server {issuer:?} did not register the client: {reason}");
        if passing { LoginError::passing(reason) } else { LoginError::lasting(reason) }
    })?;
    let registered: Registered = serde_json::from_slice(&fetched.body)
        .map_err(|_| LoginError::passing(format!("the registration of {issuer:?} cannot be read")))?;
    Ok(Registration {
        client_id: registered.client_id,
        client_secret: registered.client_secret,
        auth_method: registered.token_endpoint_auth_method,
        redirect_uri: Some(redirect_uri.to_owned()),
        secret_expires_at: registered.client_secret_expires_at,
    })
}

/// OpenID Connect Dynamic Client Registration, section 2: loopback and schemes of its own are of native clients.
fn application_type(redirect_uri: &str) -> &'static str {
    let is_web = Url::parse(redirect_uri).is_ok_and(|url| url.scheme() == "https");
    if is_web { "web" } else { "native" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_used_with_the_first_issuer_only() {
        let oauth = OAuth::new().client_id("c").client_secret("s3cret");
        let mut record = Record::default();
        assert!(registered_beforehand(&oauth, &mut record, "https://a.example").unwrap().is_some());
        let error = registered_beforehand(&oauth, &mut record, "https://b.example").unwrap_err().to_string();
        assert!(error.contains("not sent there") && !error.contains("s3cret"), "{error}");
        // A name alone is no secret.
        let public = OAuth::new().client_id("c");
        assert!(registered_beforehand(&public, &mut record, "https://b.example").unwrap().is_some());
        // Unless it is said whose it is.
        let bound = public.issuer("https://a.example");
        assert!(registered_beforehand(&bound, &mut Record::default(), "https://b.example").is_err());
    }

    #[test]
    fn what_a_client_is_follows_from_where_it_is_redirected_to() {
        assert_eq!(application_type("http://127.0.0.1:7000/callback"), "native");
        assert_eq!(application_type("my-app://callback"), "native");
        assert_eq!(application_type("https://app.example/callback"), "web");
    }
}
