//! The token endpoint (RFC 6749, section 3.2), its replays, and its refusals.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use super::authority::{Authority, Book};
use super::dpop::{self, Proved};
use super::endpoints::{client, form, json_answer};
use super::ledger::{Login, TokenRequest};
use super::metadata;
use super::options::{Authorization, RefreshTokens};
use crate::server::Respond;
use crate::server::request::Request;

/// Parameters that the ledger does not hold.
const SECRET: [&str; 5] = ["client_secret", "refresh_token", "code", "code_verifier", "client_assertion"];

/// Why there are no tokens.
struct Refused {
    status: u16,
    error: String,
    why: String,
}

fn refused(status: u16, error: &str, why: &str) -> Refused {
    Refused { status, error: error.to_owned(), why: why.to_owned() }
}

/// What goes into the answer.
struct Issued {
    login: usize,
    refresh_token: Option<String>,
}

pub(super) fn answer(authority: &Authority, options: &Authorization, request: &Request, url: &str) -> Respond {
    let form = form(&String::from_utf8_lossy(&request.body));
    let mut noted = TokenRequest {
        at_ms: authority.now_ms(),
        grant: form.get("grant_type").cloned().unwrap_or_default(),
        parameters: form.clone().into_iter().filter(|(name, _)| !SECRET.contains(&name.as_str())).collect(),
        ..TokenRequest::default()
    };
    let endpoint = format!("{}{}/token", metadata::origin(url), options.issuer_path);
    let result = issue(authority, options, request, &form, &endpoint, &mut noted);
    let answer = match result {
        Ok(json) => json_answer(200, json),
        Err(Refused { status, error, why }) => {
            noted.outcome.clone_from(&error);
            let mut answer = json_answer(status, json!({"error": error, "error_description": why}));
            if error == "use_dpop_nonce" {
                answer.headers.insert("DPoP-Nonce".to_owned(), authority.book().nonce());
            }
            answer
        }
    };
    authority.book().ledger.token_requests.push(noted);
    answer
}

fn issue(
    authority: &Authority,
    options: &Authorization,
    request: &Request,
    form: &BTreeMap<String, String>,
    endpoint: &str,
    noted: &mut TokenRequest,
) -> Result<Value, Refused> {
    let client_id = authenticated(authority, options, request, form)?;
    noted.client_id = Some(client_id.clone());
    let mut book = authority.book();
    let thumbprint = match dpop::check(request, endpoint, None, options.dpop_nonce.then(|| book.nonce()).as_deref()) {
        _ if !options.dpop => None,
        Proved::By(thumbprint) => Some(thumbprint),
        Proved::NoProof => None,
        Proved::NoNonce => return Err(refused(400, "use_dpop_nonce", "a nonce is wanted")),
        Proved::Wrong(why) => return Err(refused(400, "invalid_dpop_proof", why)),
    };
    let issued = match noted.grant.as_str() {
        "authorization_code" => exchange(&mut book, options, form, &client_id, thumbprint.clone())?,
        "refresh_token" => refresh(&mut book, options, form, &client_id, thumbprint.as_deref(), noted)?,
        "client_credentials" => {
            let scope = form.get("scope").cloned().unwrap_or_default();
            let login = Login { client_id, scope, resource: form.get("resource").cloned(), ..Login::default() };
            Issued { login: book.begin_login(login), refresh_token: None }
        }
        _ => return Err(refused(400, "unsupported_grant_type", "this grant is not supported")),
    };
    noted.login = Some(issued.login);
    "issued".clone_into(&mut noted.outcome);
    let lifetime = Duration::from_millis(options.access_token_ms);
    let token_type = if thumbprint.is_some() { "DPoP" } else { "Bearer" };
    let access_token = book.issue_access_token(issued.login, lifetime, thumbprint);
    let mut json = json!({"access_token": access_token, "token_type": token_type});
    if options.tells_expiry {
        json["expires_in"] = Value::from(lifetime.as_secs());
    }
    if let Some(refresh_token) = issued.refresh_token {
        json["refresh_token"] = Value::from(refresh_token);
    }
    if let Some(login) = book.ledger.logins.get(issued.login).filter(|login| !login.scope.is_empty()) {
        json["scope"] = Value::from(login.scope.as_str());
    }
    Ok(json)
}

/// The client that the request is of (RFC 6749, section 2.3.1).
fn authenticated(
    authority: &Authority,
    options: &Authorization,
    request: &Request,
    form: &BTreeMap<String, String>,
) -> Result<String, Refused> {
    let invalid = |why: &str| refused(401, "invalid_client", why);
    let basic = request.header("authorization").and_then(|value| value.strip_prefix("Basic ")).map(|encoded| {
        let pair = STANDARD.decode(encoded).ok().and_then(|pair| String::from_utf8(pair).ok()).unwrap_or_default();
        let (id, secret) = pair.split_once(':').unwrap_or_default();
        let decoded = |text: &str| super::endpoints::form(&format!("x={text}")).remove("x").unwrap_or_default();
        (decoded(id), decoded(secret))
    });
    let (id, secret, method) = match (basic, form.get("client_id"), form.get("client_secret")) {
        (Some((id, secret)), _, None) => (id, Some(secret), "client_secret_basic"),
        (None, Some(id), Some(secret)) => (id.clone(), Some(secret.clone()), "client_secret_post"),
        (None, Some(id), None) => (id.clone(), None, "none"),
        (Some(_), _, Some(_)) => return Err(invalid("two ways of authentication at once")),
        (None, None, _) => return Err(invalid("nobody says who this is")),
    };
    let known = client(authority, options, &id).ok_or_else(|| invalid("this client is not known"))?;
    if known.secret != secret {
        return Err(invalid("the secret is wrong"));
    }
    if !options.auth_methods.iter().any(|other| other == method) {
        return Err(invalid("this way of authentication is not supported"));
    }
    Ok(id)
}

fn exchange(
    book: &mut Book,
    options: &Authorization,
    form: &BTreeMap<String, String>,
    client_id: &str,
    thumbprint: Option<String>,
) -> Result<Issued, Refused> {
    let invalid = |why: &str| refused(400, "invalid_grant", why);
    // Whatever comes of it, it is used up.
    let code = form.get("code").and_then(|code| book.codes.remove(code)).ok_or_else(|| invalid("no such code"))?;
    if code.client_id != client_id {
        return Err(invalid("the code is another client's"));
    }
    if form.get("redirect_uri") != Some(&code.redirect_uri) {
        return Err(invalid("redirect_uri is another one"));
    }
    let verifier = form.get("code_verifier").map(String::as_str).unwrap_or_default();
    if URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes())) != code.challenge {
        return Err(invalid("the code verifier does not match"));
    }
    if form.get("resource") != code.resource.as_ref() {
        return Err(refused(400, "invalid_target", "resource is another one than before"));
    }
    let login =
        Login { client_id: client_id.to_owned(), scope: code.scope, resource: code.resource, ..Login::default() };
    let login = book.begin_login(login);
    let tokens = options.refresh_tokens != RefreshTokens::None;
    Ok(Issued { login, refresh_token: tokens.then(|| book.issue_refresh_token(login, thumbprint)) })
}

fn refresh(
    book: &mut Book,
    options: &Authorization,
    form: &BTreeMap<String, String>,
    client_id: &str,
    thumbprint: Option<&str>,
    noted: &mut TokenRequest,
) -> Result<Issued, Refused> {
    let dead = |why: &str| refused(options.dead_token.status, &options.dead_token.error, why);
    let text = form.get("refresh_token").ok_or_else(|| refused(400, "invalid_request", "refresh_token is missing"))?;
    let token = book.refresh_tokens.get(text).cloned().ok_or_else(|| dead("no such refresh token"))?;
    let login = token.login;
    noted.login = Some(login);
    if book.ledger.logins.get(login).is_none_or(|login| login.client_id != client_id) {
        return Err(dead("the refresh token is another client's"));
    }
    if token.thumbprint.is_some() && token.thumbprint.as_deref() != thumbprint {
        return Err(refused(400, "invalid_dpop_proof", "the refresh token is bound to another key"));
    }
    noted.reused = token.exchanged.is_some();
    if !book.is_alive(login) {
        return Err(dead("the login is over"));
    }
    let grace = Duration::from_millis(options.grace_ms);
    if token.exchanged.is_some_and(|exchanged| exchanged.elapsed() >= grace) {
        if options.revoke_on_reuse {
            book.revoke(login, "a refresh token was used twice");
        }
        return Err(dead("the refresh token was used before"));
    }
    if let Some(login) = book.ledger.logins.get_mut(login) {
        login.refreshed += 1;
    }
    if options.refresh_tokens == RefreshTokens::Kept {
        return Ok(Issued { login, refresh_token: None });
    }
    if let Some(token) = book.refresh_tokens.get_mut(text) {
        token.exchanged.get_or_insert_with(Instant::now);
    }
    Ok(Issued { login, refresh_token: Some(book.issue_refresh_token(login, token.thumbprint)) })
}
