//! The request that a person grants: its URL, and what is looked at before the code of the answer leaves this process.

use url::Url;

use super::classify;
use super::discovery::Found;
use super::error::LoginError;
use super::pkce::{METHOD, Pkce};
use super::random::{NoRandomness, unguessable};
use super::record::Registration;

/// One request for authorization, on its way.
pub(crate) struct Authorization {
    pub(crate) url: String,
    /// What the redirect has to repeat.
    pub(crate) state: String,
    pub(crate) pkce: Pkce,
    pub(crate) redirect_uri: String,
}

/// The request for these scopes; the code is bound to the key of this thumbprint, if there is one.
///
/// # Errors
/// The authorization server cannot be asked safely, or not at all.
pub(crate) fn request(
    found: &Found,
    client: &Registration,
    redirect_uri: &str,
    scopes: &[String],
    unlisted_pkce: &[String],
    thumbprint: Option<&str>,
) -> Result<Authorization, LoginError> {
    let server = &found.server;
    let issuer = classify::said(&server.issuer);
    let lists_pkce = server.code_challenge_methods_supported.iter().any(|method| method == METHOD);
    if !lists_pkce && !found.assumed && !unlisted_pkce.contains(&server.issuer) {
        return Err(LoginError::lasting(format!(
            "the authorization server {issuer:?} does not say that it supports PKCE with S256: it is not used (allow_unlisted_pkce)"
        )));
    }
    let Some(endpoint) = &server.authorization_endpoint else {
        return Err(LoginError::lasting(format!("the authorization server {issuer:?} has no authorization endpoint")));
    };
    let mut url = Url::parse(endpoint)
        .map_err(|_| LoginError::lasting(format!("the authorization endpoint of {issuer:?} is not a URL")))?;
    let no_random = |error: NoRandomness| LoginError::passing(error.to_string());
    let pkce = Pkce::generate().map_err(no_random)?;
    let state = unguessable().map_err(no_random)?;
    url.set_fragment(None);
    {
        let mut query = url.query_pairs_mut();
        query.append_pair("response_type", "code");
        query.append_pair("client_id", &client.client_id);
        query.append_pair("redirect_uri", redirect_uri);
        query.append_pair("state", &state);
        query.append_pair("code_challenge", pkce.challenge());
        query.append_pair("code_challenge_method", METHOD);
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        if scopes.iter().any(|scope| scope == OFFLINE) {
            // OpenID Connect Core, section 11: without it offline access is not granted.
            query.append_pair("prompt", "consent");
        }
        if let Some(resource) = &found.resource {
            query.append_pair("resource", resource);
        }
        if let Some(thumbprint) = thumbprint {
            query.append_pair("dpop_jkt", thumbprint);
        }
    }
    Ok(Authorization { url: url.into(), state, pkce, redirect_uri: redirect_uri.to_owned() })
}

/// The scope of refresh tokens (OpenID Connect Core, section 11).
pub(crate) const OFFLINE: &str = "offline_access";

/// The scopes to ask for: what the host says, else what the challenge names, else what the resource knows; with those of before.
pub(crate) fn scopes(
    of_host: Option<&[String]>,
    of_challenge: Option<&str>,
    found: &Found,
    before: &[String],
) -> Vec<String> {
    let named: Vec<String> = match (of_host, of_challenge) {
        (Some(scopes), None) => scopes.to_vec(),
        (Some(scopes), Some(more)) => scopes.iter().cloned().chain(words(more)).collect(),
        (None, Some(scopes)) => words(scopes).collect(),
        (None, None) => found.scopes_supported.clone(),
    };
    let mut all: Vec<String> = before.to_vec();
    for scope in named {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    let offline = found.server.scopes_supported.iter().any(|scope| scope == OFFLINE);
    if offline && !all.iter().any(|scope| scope == OFFLINE) {
        all.push(OFFLINE.to_owned());
    }
    all
}

/// The scopes in a text.
pub(crate) fn words(scopes: &str) -> impl Iterator<Item = String> {
    scopes.split_ascii_whitespace().map(str::to_owned)
}

/// The code in a redirect. `state` and `iss` are looked at first, byte by byte: a code that another server, or nobody, was asked for does not
/// leave this process (RFC 9207, RFC 9700, section 4.4).
///
/// # Errors
/// The redirect is not the answer to this request, or the person, or the server, said no.
pub(crate) fn code(redirect: &str, asked: &Authorization, found: &Found) -> Result<String, LoginError> {
    let query = match Url::parse(redirect.trim()) {
        Ok(url) => url.query().unwrap_or_default().to_owned(),
        Err(_) => return Err(LoginError::lasting("what came back from the login is not a URL")),
    };
    let mut twice = false;
    let mut one = |name: &str| {
        let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
        let first = values.next().map(|(_, value)| value.into_owned());
        // RFC 6749, section 3.1: not more than once.
        twice |= values.next().is_some();
        first
    };
    let (state, iss, code, error) = (one("state"), one("iss"), one("code"), one("error"));
    let description = one("error_description");
    if twice {
        return Err(LoginError::lasting("what came back from the login says something twice"));
    }
    if state.as_deref() != Some(&*asked.state) {
        return Err(LoginError::lasting("what came back is not of this login: its state is another"));
    }
    let issuer = &found.server.issuer;
    match iss {
        Some(iss) if iss != *issuer => {
            let (iss, issuer) = (classify::said(&iss), classify::said(issuer));
            return Err(LoginError::lasting(format!(
                "what came back is of the issuer {iss:?}, and {issuer:?} was asked: its code is not used"
            )));
        }
        None if found.server.authorization_response_iss_parameter_supported => {
            return Err(LoginError::lasting("what came back names no issuer, though the server says that it does"));
        }
        _ => {}
    }
    if let Some(error) = error {
        let error = classify::said(&error);
        let more = description.map(|text| format!(" ({})", classify::said(&text))).unwrap_or_default();
        return Err(LoginError::lasting(format!("the login was refused: {error}{more}")));
    }
    code.filter(|code| !code.is_empty()).ok_or_else(|| LoginError::lasting("what came back holds no code"))
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;
    use crate::oauth::discovery::ServerMetadata;

    fn found() -> Found {
        Found {
            resource: Some("https://a.example".into()),
            scopes_supported: vec!["x".into(), "y".into()],
            server: ServerMetadata {
                issuer: "https://as.example".into(),
                authorization_endpoint: Some("https://as.example/authorize?tenant=1".into()),
                code_challenge_methods_supported: vec!["S256".into()],
                ..ServerMetadata::default()
            },
            assumed: false,
        }
    }

    fn client() -> Registration {
        Registration {
            client_id: "c".into(),
            client_secret: None,
            auth_method: None,
            redirect_uri: None,
            secret_expires_at: None,
        }
    }

    fn asked() -> Authorization {
        request(&found(), &client(), "http://127.0.0.1:7000/callback", &["x".into()], &[], None).unwrap()
    }

    fn parameter(url: &str, name: &str) -> Option<String> {
        let url = Url::parse(url).unwrap();
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    #[test]
    fn what_is_asked_for() {
        let asked = asked();
        let of = |name| parameter(&asked.url, name);
        assert!(asked.url.starts_with("https://as.example/authorize?tenant=1&"), "{}", asked.url);
        assert_eq!(of("scope").as_deref(), Some("x"));
        // As it is written, without the stroke that a parser adds.
        assert_eq!(of("resource").as_deref(), Some("https://a.example"));
        assert_eq!(of("code_challenge_method").as_deref(), Some("S256"));
        assert_eq!(of("state"), Some(asked.state.clone()));
        assert_eq!(of("code_challenge").as_deref(), Some(asked.pkce.challenge()));
        assert_ne!(asked.state, self::asked().state);
    }

    #[test]
    fn without_scopes_none_are_asked_for() {
        let asked = request(&found(), &client(), "http://127.0.0.1:7000/callback", &[], &[], None).unwrap();
        assert_eq!(parameter(&asked.url, "scope"), None);
    }

    #[test]
    fn a_server_that_lists_no_pkce_is_refused_unless_the_host_says_otherwise() {
        let mut found = found();
        found.server.code_challenge_methods_supported = vec!["plain".into()];
        let asking =
            |found: &Found, unlisted: &[String]| request(found, &client(), "http://127.0.0.1/", &[], unlisted, None);
        assert!(asking(&found, &[]).is_err());
        assert!(asking(&found, &["https://other.example".into()]).is_err());
        assert!(asking(&found, &["https://as.example".into()]).is_ok());
        // One of 2025-03-26 has no metadata to list it in.
        found.assumed = true;
        assert!(asking(&found, &[]).is_ok());
    }

    #[test_case("&iss=https%3A%2F%2Fas.example", false, true; "the right issuer")]
    #[test_case("", false, true; "none, and none is promised")]
    #[test_case("", true, false; "none, though it is promised")]
    #[test_case("&iss=https%3A%2F%2Fas.example%2F", false, false; "with a stroke more")]
    #[test_case("&iss=https%3A%2F%2Fevil.example", false, false; "another issuer that is not promised")]
    #[test_case("&iss=https%3A%2F%2FAS.example", true, false; "in other letters")]
    #[test_case("&iss=https%3A%2F%2Fas.example&iss=https%3A%2F%2Fas.example", true, false; "twice")]
    fn the_issuer_of_the_answer_is_compared_byte_by_byte(iss: &str, promised: bool, expected: bool) {
        let (mut found, asked) = (found(), asked());
        found.server.authorization_response_iss_parameter_supported = promised;
        let redirect = format!("http://127.0.0.1:7000/callback?code=k&state={}{iss}", asked.state);
        assert_eq!(code(&redirect, &asked, &found).is_ok(), expected);
    }

    #[test]
    fn the_state_has_to_be_that_of_the_request() {
        let (found, asked) = (found(), asked());
        for query in ["code=k", "code=k&state=", "code=k&state=other", "code=k&state=%00"] {
            let redirect = format!("http://127.0.0.1:7000/callback?{query}");
            assert!(code(&redirect, &asked, &found).unwrap_err().to_string().contains("state"), "{query}");
        }
        assert!(code("no url", &asked, &found).is_err());
    }

    #[test]
    fn a_refusal_is_told_in_short() {
        let (found, asked) = (found(), asked());
        let redirect = format!("app://back?error=access_denied&error_description=No%0Away&state={}", asked.state);
        let error = code(&redirect, &asked, &found).unwrap_err().to_string();
        assert_eq!(error, "the login was refused: access_denied (No way)");
    }

    #[test]
    fn which_scopes_are_asked_for() {
        let found = found();
        let of = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(scopes(None, None, &found, &[]), of(&["x", "y"]));
        assert_eq!(scopes(None, Some("b a"), &found, &[]), of(&["b", "a"]));
        assert_eq!(scopes(Some(&of(&["h"])), None, &found, &[]), of(&["h"]));
        // A step up adds, so that two tools do not take each other's scopes away.
        assert_eq!(scopes(None, Some("b a"), &found, &of(&["c", "b"])), of(&["c", "b", "a"]));
        let mut offline = found;
        offline.server.scopes_supported = of(&["offline_access"]);
        assert_eq!(scopes(None, Some("a"), &offline, &[]), of(&["a", "offline_access"]));
        offline.scopes_supported.clear();
        offline.server.scopes_supported.clear();
        assert!(scopes(None, None, &offline, &[]).is_empty());
    }
}
