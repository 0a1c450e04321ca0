//! The endpoints, and what they answer when no rule says otherwise.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::authority::{Authority, Code, overridden};
use super::ledger::{Asked, Registration};
use super::metadata;
use super::options::{Authorization, KnownClient};
use super::token;
use crate::server::request::Request;
use crate::server::{Options, Respond};

/// A request that is no MCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    ServerMetadata,
    ResourceMetadata,
    Register,
    Authorize,
    Token,
    Revoke,
}

/// Which endpoint a request is for, if it is one of these.
pub(crate) fn route(options: &Options, request: &Request) -> Option<Route> {
    let path = request.path.split('?').next().unwrap_or_default();
    let is = |paths: &[String]| request.method == "GET" && paths.iter().any(|other| other == path);
    if options.protected.as_ref().is_some_and(|protected| is(&protected.metadata_paths)) {
        return Some(Route::ResourceMetadata);
    }
    let authorization = options.authorization.as_ref()?;
    if is(&authorization.metadata_paths) {
        return Some(Route::ServerMetadata);
    }
    match (request.method.as_str(), path.strip_prefix(authorization.issuer_path.as_str())?) {
        ("GET", "/authorize") => Some(Route::Authorize),
        ("POST", "/token") => Some(Route::Token),
        ("POST", "/register") if authorization.registration => Some(Route::Register),
        ("POST", "/revoke") => Some(Route::Revoke),
        _ => None,
    }
}

/// The answer of the endpoint, and what it does.
///
/// `authority` is this server's, `by` the one whose tokens it takes, `url` its MCP endpoint.
pub(crate) fn answer(
    route: Route,
    authority: &Authority,
    by: Option<&Authority>,
    options: &Options,
    request: &Request,
    url: &str,
) -> Respond {
    match (route, &options.protected, &options.authorization) {
        (Route::ResourceMetadata, Some(protected), _) => {
            json_answer(200, metadata::of_resource(protected, url, by.map_or("", Authority::issuer)))
        }
        (Route::ServerMetadata, _, Some(options)) => json_answer(200, metadata::of_server(options, url)),
        (Route::Register, _, Some(options)) => register(authority, options, &request.body),
        (Route::Authorize, _, Some(options)) => authorize(authority, options, request),
        (Route::Token, _, Some(options)) => token::answer(authority, options, request, url),
        (Route::Revoke, _, Some(_)) => revoke(authority, request),
        _ => json_answer(404, json!({"error": "not_found"})),
    }
}

pub(super) fn json_answer(status: u16, json: Value) -> Respond {
    let headers = [("Cache-Control".to_owned(), "no-store".to_owned())].into();
    Respond { status, headers, json: Some(json), ..Respond::default() }
}

/// The pairs of a query or a form.
pub(crate) fn form(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// The `grant_type` of a request to a token endpoint.
pub(crate) fn grant(request: &Request) -> Option<String> {
    let is_form = |kind: &str| kind.starts_with("application/x-www-form-urlencoded");
    let of_form = request.method == "POST" && request.header("content-type").is_some_and(is_form);
    of_form.then(|| form(&String::from_utf8_lossy(&request.body)).remove("grant_type")).flatten()
}

fn register(authority: &Authority, options: &Authorization, body: &[u8]) -> Respond {
    let invalid = |what: &str| json_answer(400, json!({"error": "invalid_client_metadata", "error_description": what}));
    let Ok(mut client) = serde_json::from_slice::<Value>(body) else { return invalid("it is no JSON") };
    let uris = client["redirect_uris"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let redirect_uris: Vec<_> = uris.map(str::to_owned).collect();
    if redirect_uris.is_empty() {
        return invalid("redirect_uris is missing");
    }
    let method = client["token_endpoint_auth_method"].as_str().unwrap_or("client_secret_basic").to_owned();
    if !options.auth_methods.contains(&method) {
        return invalid(&format!("token_endpoint_auth_method {method} is not supported"));
    }
    let at_ms = authority.now_ms();
    let mut book = authority.book();
    let client_id = book.unique("client");
    let secret = (method != "none").then(|| book.unique("secret"));
    let metadata = client.clone();
    book.ledger.registrations.push(Registration { at_ms, client_id: client_id.clone(), metadata });
    book.clients.insert(client_id.clone(), KnownClient { secret: secret.clone(), redirect_uris });
    client["client_id"] = Value::from(client_id);
    if let Some(secret) = secret {
        client["client_secret"] = Value::from(secret);
        client["client_secret_expires_at"] = Value::from(0);
    }
    json_answer(201, client)
}

/// Who this is, if the server knows.
pub(super) fn client(authority: &Authority, options: &Authorization, id: &str) -> Option<KnownClient> {
    let known = options.clients.get(id).cloned().or_else(|| authority.book().clients.get(id).cloned());
    known.or_else(|| (options.client_id_metadata && id.starts_with("https://")).then(KnownClient::default))
}

fn authorize(authority: &Authority, options: &Authorization, request: &Request) -> Respond {
    let parameters = form(request.path.split_once('?').map_or("", |(_, query)| query));
    let mut asked = Asked { at_ms: authority.now_ms(), parameters: parameters.clone(), refused: None };
    let redirect = match checked(authority, options, &parameters) {
        Ok(code) => redirect(authority, options, &parameters, code),
        Err(why) => {
            asked.refused = Some(why.to_owned());
            json_answer(400, json!({"error": "invalid_request", "error_description": why}))
        }
    };
    authority.book().ledger.authorizations.push(asked);
    redirect
}

fn checked(
    authority: &Authority,
    options: &Authorization,
    parameters: &BTreeMap<String, String>,
) -> Result<Code, &'static str> {
    let of = |name: &str| parameters.get(name).cloned();
    let client_id = of("client_id").ok_or("client_id is missing")?;
    let client = client(authority, options, &client_id).ok_or("this client is not known")?;
    let redirect_uri = of("redirect_uri").ok_or("redirect_uri is missing")?;
    if !client.redirect_uris.is_empty() && !client.redirect_uris.iter().any(|uri| is_same(uri, &redirect_uri)) {
        return Err("redirect_uri is not registered");
    }
    if of("response_type").as_deref() != Some("code") {
        return Err("response_type is not code");
    }
    if of("code_challenge_method").as_deref() != Some("S256") {
        return Err("code_challenge_method is not S256");
    }
    let challenge = of("code_challenge").ok_or("code_challenge is missing")?;
    let scope = of("scope").unwrap_or_default();
    Ok(Code { client_id, redirect_uri, challenge, scope, resource: of("resource") })
}

/// On the loopback interface the port does not count (RFC 8252, section 7.3).
fn is_same(registered: &str, asked: &str) -> bool {
    let without_port = |uri: &str| {
        let mut url = url::Url::parse(uri).ok()?;
        let loopback = matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]"));
        if loopback {
            url.set_port(None).ok()?;
        }
        Some(url)
    };
    registered == asked || without_port(registered).is_some_and(|url| Some(url) == without_port(asked))
}

fn redirect(authority: &Authority, options: &Authorization, asked: &BTreeMap<String, String>, code: Code) -> Respond {
    let Ok(mut to) = url::Url::parse(&code.redirect_uri) else {
        return json_answer(400, json!({"error": "invalid_request", "error_description": "redirect_uri is no URL"}));
    };
    let text = {
        let mut book = authority.book();
        let text = book.unique("code");
        book.codes.insert(text.clone(), code);
        text
    };
    let mut answer = json!({"code": text});
    if let Some(state) = asked.get("state") {
        answer["state"] = Value::from(state.as_str());
    }
    if options.tells_issuer {
        answer["iss"] = Value::from(authority.issuer());
    }
    let answer = overridden(answer, &options.redirect);
    for (name, value) in answer.as_object().into_iter().flatten() {
        to.query_pairs_mut().append_pair(name, value.as_str().unwrap_or_default());
    }
    Respond { status: 302, headers: [("Location".to_owned(), to.into())].into(), ..Respond::default() }
}

/// RFC 7009: whatever the token is, the answer is the same.
fn revoke(authority: &Authority, request: &Request) -> Respond {
    let form = form(&String::from_utf8_lossy(&request.body));
    let mut book = authority.book();
    if let Some(token) = form.get("token") {
        let login = book.refresh_tokens.get(token).map(|token| token.login);
        let login = login.or_else(|| book.access_tokens.get(token).map(|token| token.login));
        if let Some(login) = login {
            book.revoke(login, "revoked by the client");
        }
    }
    Respond { status: 200, ..Respond::default() }
}
