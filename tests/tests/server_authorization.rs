//! The authorization server is a correct one, and fails as it is told.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod raw;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use oncewire_tests::server::{FaultServer, Script};
use raw::{Answer, Raw};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::{Value, json};

const REDIRECT: &str = "http://127.0.0.1:1234/callback";

/// A server that gives tokens and takes them, with these members of its options.
async fn server(authorization: Value, protected: Value, rules: Value) -> FaultServer {
    let script = json!({"options": {"authorization": authorization, "protected": protected}, "rules": rules});
    FaultServer::start(serde_json::from_value::<Script>(script).unwrap()).await.unwrap()
}

async fn plain() -> FaultServer {
    server(json!({}), json!({}), json!([])).await
}

async fn request(server: &FaultServer, http: &str, path: &str, extra: &str, body: &str) -> Option<Answer> {
    let mut raw = Raw::connect(server).await;
    raw.send(http, path, extra, body).await;
    raw.answer().await.ok()
}

async fn get(server: &FaultServer, path: &str) -> Answer {
    request(server, "GET", path, "", "").await.unwrap()
}

fn encoded(pairs: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Posts a form; nothing if the connection ended without an answer.
async fn post(server: &FaultServer, path: &str, extra: &str, form: &[(&str, &str)]) -> Option<Answer> {
    let extra = format!("Content-Type: application/x-www-form-urlencoded\r\n{extra}");
    request(server, "POST", path, &extra, &encoded(form)).await
}

async fn register(server: &FaultServer) -> String {
    let body = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"}).to_string();
    let answer = request(server, "POST", "/register", "", &body).await.unwrap();
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["client_id"].as_str().unwrap().to_owned()
}

fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

/// The query of the redirect.
async fn authorize(server: &FaultServer, client: &str, more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let challenge = challenge("verifier");
    let mut query = vec![
        ("client_id", client),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("state", "s"),
    ];
    query.extend(more);
    let answer = get(server, &format!("/authorize?{}", encoded(&query))).await;
    assert_eq!(answer.status, 302, "{}", answer.body);
    let to = url::Url::parse(answer.header("location").unwrap()).unwrap();
    assert!(to.as_str().starts_with(REDIRECT), "{to}");
    to.query_pairs().into_owned().collect()
}

async fn code_for_tokens(server: &FaultServer, client: &str, code: &str, more: &[(&str, &str)]) -> Answer {
    let mut form = vec![
        ("grant_type", "authorization_code"),
        ("client_id", client),
        ("code", code),
        ("redirect_uri", REDIRECT),
        ("code_verifier", "verifier"),
    ];
    form.extend(more);
    post(server, "/token", "", &form).await.unwrap()
}

/// Goes all the way; the client and the tokens.
async fn login(server: &FaultServer, more: &[(&str, &str)]) -> (String, Value) {
    let client = register(server).await;
    let code = authorize(server, &client, more).await["code"].clone();
    let resource: Vec<_> = more.iter().copied().filter(|(name, _)| *name == "resource").collect();
    let answer = code_for_tokens(server, &client, &code, &resource).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    (client, answer.json())
}

async fn refresh(server: &FaultServer, client: &str, token: &Value) -> Option<Answer> {
    let form =
        [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token.as_str().unwrap_or_default())];
    post(server, "/token", "", &form).await
}

/// The status of a request to the resource, and its challenge.
async fn use_token(server: &FaultServer, token: Option<&Value>, rpc: &str, params: Value) -> (u16, String) {
    let mut raw = Raw::connect(server).await;
    raw.token = token.map(|token| token.as_str().unwrap().to_owned());
    let answer = raw.rpc(rpc, params).await;
    (answer.status, answer.header("www-authenticate").unwrap_or_default().to_owned())
}

async fn opens_a_session(server: &FaultServer, tokens: &Value) -> bool {
    use_token(server, Some(&tokens["access_token"]), "initialize", json!({})).await.0 == 200
}

#[tokio::test]
async fn a_client_finds_its_way_from_the_challenge_to_the_resource() {
    let server = plain().await;
    let origin = format!("http://127.0.0.1:{}", server.port());
    let (status, challenge) = use_token(&server, None, "initialize", json!({})).await;
    let metadata = format!("{origin}/.well-known/oauth-protected-resource/mcp");
    assert_eq!((status, challenge), (401, format!("Bearer resource_metadata=\"{metadata}\"")));
    let resource = get(&server, "/.well-known/oauth-protected-resource/mcp").await.json();
    assert_eq!(resource, json!({"resource": server.url(), "authorization_servers": [origin]}));
    let metadata = get(&server, "/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["issuer"], origin);
    assert_eq!(metadata["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(metadata["token_endpoint"], format!("{origin}/token"));
    let client = register(&server).await;
    let redirect = authorize(&server, &client, &[("resource", server.url()), ("scope", "a b")]).await;
    assert_eq!((redirect["state"].as_str(), redirect["iss"].as_str()), ("s", origin.as_str()));
    let tokens = code_for_tokens(&server, &client, &redirect["code"], &[("resource", server.url())]).await.json();
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3_600)));
    assert_eq!(tokens["scope"], "a b");
    assert!(opens_a_session(&server, &tokens).await);
    let ledger = server.ledger().authorization;
    assert_eq!((ledger.registrations.len(), ledger.authorizations.len(), ledger.logins.len()), (1, 1, 1));
    assert_eq!((ledger.accepted, ledger.refused), (1, vec!["none".to_owned()]));
    let asked = &ledger.token_requests[0];
    assert_eq!((asked.grant.as_str(), asked.outcome.as_str(), asked.login), ("authorization_code", "issued", Some(0)));
    assert!(!asked.parameters.contains_key("code_verifier"));
}

#[tokio::test]
async fn a_code_is_good_once_and_for_whom_it_was_given() {
    let server = plain().await;
    let client = register(&server).await;
    let code = || async { authorize(&server, &client, &[]).await["code"].clone() };
    let first = code().await;
    assert_eq!(code_for_tokens(&server, &client, &first, &[]).await.status, 200);
    let error = |answer: Answer| (answer.status, answer.json()["error"].as_str().unwrap().to_owned());
    let invalid = (400, "invalid_grant".to_owned());
    assert_eq!(error(code_for_tokens(&server, &client, &first, &[]).await), invalid, "twice");
    // Of parameters of one name the last counts.
    for wrong in [("code_verifier", "other"), ("redirect_uri", "http://127.0.0.1:1234/other")] {
        assert_eq!(error(code_for_tokens(&server, &client, &code().await, &[wrong]).await), invalid, "{wrong:?}");
    }
    let other = register(&server).await;
    assert_eq!(error(code_for_tokens(&server, &other, &code().await, &[]).await), invalid, "another client");
    let target = code_for_tokens(&server, &client, &code().await, &[("resource", "http://x")]).await;
    assert_eq!(error(target), (400, "invalid_target".to_owned()));
    let unknown = code_for_tokens(&server, "nobody", &code().await, &[]).await;
    assert_eq!(error(unknown), (401, "invalid_client".to_owned()));
}

#[tokio::test]
async fn what_authorize_refuses_it_does_not_redirect() {
    let server = plain().await;
    let client = register(&server).await;
    let challenge = challenge("v");
    let good = [
        ("client_id", client.as_str()),
        ("redirect_uri", "http://127.0.0.1:9/callback"),
        ("response_type", "code"),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
    ];
    assert_eq!(get(&server, &format!("/authorize?{}", encoded(&good))).await.status, 302, "any port of the loopback");
    for (at, wrong) in [(0, "nobody"), (1, "http://evil.example/callback"), (2, "token"), (4, "plain")] {
        let mut query = good;
        query[at].1 = wrong;
        assert_eq!(get(&server, &format!("/authorize?{}", encoded(&query))).await.status, 400, "{wrong}");
    }
    let refused = server.ledger().authorization.authorizations.into_iter().filter_map(|asked| asked.refused);
    assert_eq!(refused.count(), 4);
}

#[tokio::test]
async fn a_refresh_token_is_good_once_and_its_replay_ends_the_login() {
    let server = plain().await;
    let (client, first) = login(&server, &[]).await;
    let second = refresh(&server, &client, &first["refresh_token"]).await.unwrap().json();
    assert_ne!(second["refresh_token"], first["refresh_token"]);
    assert!(opens_a_session(&server, &first).await && opens_a_session(&server, &second).await);
    let replay = refresh(&server, &client, &first["refresh_token"]).await.unwrap();
    assert_eq!((replay.status, &replay.json()["error"]), (400, &json!("invalid_grant")));
    assert!(!opens_a_session(&server, &second).await, "the whole family is gone");
    assert_eq!(refresh(&server, &client, &second["refresh_token"]).await.unwrap().status, 400);
    let ledger = server.ledger().authorization;
    assert_eq!(ledger.logins[0].refreshed, 1);
    assert_eq!(ledger.logins[0].revoked.as_deref(), Some("a refresh token was used twice"));
    let reused: Vec<_> = ledger.token_requests.iter().map(|request| request.reused).collect();
    assert_eq!(reused, [false, false, true, false]);
    assert_eq!(ledger.refused, ["revoked"]);
}

#[tokio::test]
async fn within_the_grace_a_replay_is_answered() {
    let server = server(json!({"grace_ms": 600_000}), json!({}), json!([])).await;
    let (client, first) = login(&server, &[]).await;
    let second = refresh(&server, &client, &first["refresh_token"]).await.unwrap().json();
    let again = refresh(&server, &client, &first["refresh_token"]).await.unwrap().json();
    assert!(opens_a_session(&server, &second).await && opens_a_session(&server, &again).await);
    assert_eq!(server.ledger().authorization.logins[0].revoked, None);
}

#[tokio::test]
async fn refresh_tokens_may_be_kept_or_absent_and_a_replay_may_be_harmless() {
    let kept = server(json!({"refresh_tokens": "kept"}), json!({}), json!([])).await;
    let (client, first) = login(&kept, &[]).await;
    for _ in 0..2 {
        let answer = refresh(&kept, &client, &first["refresh_token"]).await.unwrap();
        assert_eq!((answer.status, answer.json().get("refresh_token")), (200, None));
    }
    let none = server(json!({"refresh_tokens": "none"}), json!({}), json!([])).await;
    assert_eq!(login(&none, &[]).await.1.get("refresh_token"), None);
    let lenient = server(json!({"revoke_on_reuse": false}), json!({}), json!([])).await;
    let (client, first) = login(&lenient, &[]).await;
    let second = refresh(&lenient, &client, &first["refresh_token"]).await.unwrap().json();
    assert_eq!(refresh(&lenient, &client, &first["refresh_token"]).await.unwrap().status, 400);
    assert_eq!(refresh(&lenient, &client, &second["refresh_token"]).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_dead_token_is_worded_as_told() {
    let dead = json!({"dead_token": {"status": 429, "error": "slow_down"}});
    let server = server(dead, json!({}), json!([])).await;
    let client = register(&server).await;
    let answer = refresh(&server, &client, &json!("no such token")).await.unwrap();
    assert_eq!((answer.status, &answer.json()["error"]), (429, &json!("slow_down")));
}

#[tokio::test]
async fn the_answer_is_cut_after_the_rotation_or_before() {
    let cut =
        |actions: Value| json!([{"when": {"path": "/token", "grant": "refresh_token"}, "times": 1, "do": actions}]);
    let after = server(json!({}), json!({}), cut(json!(["execute", "close"]))).await;
    let (client, first) = login(&after, &[]).await;
    assert_eq!(refresh(&after, &client, &first["refresh_token"]).await, None);
    assert_eq!(after.ledger().authorization.logins[0].refreshed, 1);
    assert_eq!(refresh(&after, &client, &first["refresh_token"]).await.unwrap().status, 400, "a replay");

    let half = server(json!({}), json!({}), cut(json!([{"half_answer": "length"}, "reset"]))).await;
    let (client, first) = login(&half, &[]).await;
    assert_eq!(refresh(&half, &client, &first["refresh_token"]).await, None);
    assert_eq!(half.ledger().authorization.logins[0].refreshed, 1);

    let before = server(json!({}), json!({}), cut(json!(["close"]))).await;
    let (client, first) = login(&before, &[]).await;
    assert_eq!(refresh(&before, &client, &first["refresh_token"]).await, None);
    assert_eq!(before.ledger().authorization.logins[0].refreshed, 0);
    assert_eq!(refresh(&before, &client, &first["refresh_token"]).await.unwrap().status, 200, "it never came");
}

#[tokio::test]
async fn it_answers_with_what_no_such_server_should() {
    let respond = json!({"respond": {"status": 502, "headers": {"Content-Type": "text/html"}, "text": "<html>"}});
    let rules = json!([{"when": {"path": "/token", "grant": "refresh_token"}, "times": 1, "do": [respond]}]);
    let server = server(json!({}), json!({}), rules).await;
    let (client, first) = login(&server, &[]).await;
    let answer = refresh(&server, &client, &first["refresh_token"]).await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (502, "<html>"));
    assert_eq!(server.ledger().authorization.token_requests.len(), 1, "it was not asked");
    assert_eq!(refresh(&server, &client, &first["refresh_token"]).await.unwrap().status, 200);
}

#[tokio::test]
async fn tokens_expire_and_logins_are_revoked() {
    let short = server(json!({"access_token_ms": 0, "tells_expiry": false}), json!({}), json!([])).await;
    let (_, tokens) = login(&short, &[]).await;
    assert_eq!(tokens.get("expires_in"), None);
    let (status, challenge) = use_token(&short, Some(&tokens["access_token"]), "initialize", json!({})).await;
    assert!(status == 401 && challenge.starts_with("Bearer error=\"invalid_token\""), "{status} {challenge}");

    let server = plain().await;
    let (client, first) = login(&server, &[]).await;
    server.expire_access_tokens();
    assert!(!opens_a_session(&server, &first).await);
    let second = refresh(&server, &client, &first["refresh_token"]).await.unwrap().json();
    assert!(opens_a_session(&server, &second).await);
    assert_eq!(
        post(&server, "/revoke", "", &[("token", second["refresh_token"].as_str().unwrap())]).await.unwrap().status,
        200
    );
    assert!(!opens_a_session(&server, &second).await);
    let (_, third) = login(&server, &[]).await;
    server.revoke_logins();
    assert!(!opens_a_session(&server, &third).await);
    let whys: Vec<_> = server.ledger().authorization.logins.into_iter().filter_map(|login| login.revoked).collect();
    assert_eq!(whys, ["revoked by the client", "revoked by the server"]);
    assert_eq!(server.ledger().authorization.refused, ["expired", "revoked", "revoked"]);
}

#[tokio::test]
async fn a_tool_may_need_more() {
    let protected =
        json!({"scopes": ["use"], "tools": {"poke": ["write"]}, "open": ["initialize", "notifications/initialized"]});
    let server = server(json!({}), protected, json!([])).await;
    let mut raw = Raw::ready(&server).await;
    assert_eq!(raw.call("peek").await.status, 401);
    let call = |tokens: Value, tool: &'static str, session: Option<String>| {
        let server = &server;
        async move {
            let mut raw = Raw::connect(server).await;
            raw.token = Some(tokens["access_token"].as_str().unwrap().to_owned());
            raw.session = session;
            let answer = raw.call(tool).await;
            (answer.status, answer.header("www-authenticate").unwrap_or_default().to_owned())
        }
    };
    let (_, tokens) = login(&server, &[("scope", "use")]).await;
    assert_eq!(call(tokens.clone(), "peek", raw.session.clone()).await.0, 200);
    let (status, challenge) = call(tokens, "poke", raw.session.clone()).await;
    assert_eq!(status, 403);
    assert!(
        challenge.starts_with("Bearer error=\"insufficient_scope\", scope=\"use write\", resource_metadata="),
        "{challenge}"
    );
    let (_, tokens) = login(&server, &[("scope", "use write")]).await;
    assert_eq!(call(tokens, "poke", raw.session.clone()).await.0, 200);
    assert_eq!(server.ledger().executions_of("tools/call", Some("poke")), 1);
}

#[tokio::test]
async fn a_token_is_for_one_resource() {
    let server = plain().await;
    let (_, ours) = login(&server, &[("resource", server.url())]).await;
    let (_, others) = login(&server, &[("resource", "https://other.example/mcp")]).await;
    assert!(opens_a_session(&server, &ours).await);
    assert!(!opens_a_session(&server, &others).await);
    assert_eq!(server.ledger().authorization.refused, ["resource"]);
}

#[tokio::test]
async fn clients_say_who_they_are_in_the_ways_that_are_told() {
    let clients = json!({"me:you": {"secret": "s e/c"}});
    let methods = json!({"clients": clients, "auth_methods": ["client_secret_basic"], "registration": false});
    let server = server(methods, json!({}), json!([])).await;
    assert_eq!(request(&server, "POST", "/register", "", "{}").await.unwrap().status, 404);
    let basic = |pair: &str| format!("Authorization: Basic {}\r\n", STANDARD.encode(pair));
    let grant = ("grant_type", "client_credentials");
    let good = post(&server, "/token", &basic("me%3Ayou:s+e%2Fc"), &[grant, ("scope", "a")]).await.unwrap();
    assert_eq!((good.status, &good.json()["scope"]), (200, &json!("a")));
    let wrong = post(&server, "/token", &basic("me%3Ayou:other"), &[grant]).await.unwrap();
    assert_eq!((wrong.status, &wrong.json()["error"]), (401, &json!("invalid_client")));
    let form = [grant, ("client_id", "me:you"), ("client_secret", "s e/c")];
    assert_eq!(post(&server, "/token", "", &form).await.unwrap().status, 401, "not this way");
}

#[tokio::test]
async fn the_documents_and_the_redirect_are_other_than_they_should_be_where_told() {
    let options = json!({
        "issuer_path": "/tenant1",
        "metadata_paths": ["/tenant1/.well-known/openid-configuration"],
        "metadata": {"issuer": "https://attacker.example", "revocation_endpoint": null},
        "redirect": {"iss": "https://evil.example", "state": null},
        "client_id_metadata": true,
    });
    let protected = json!({"metadata": {"resource": "https://evil.example/mcp"}, "metadata_paths": ["/custom"], "names_metadata": false});
    let server = server(options, protected, json!([])).await;
    let metadata = get(&server, "/tenant1/.well-known/openid-configuration").await.json();
    assert_eq!((&metadata["issuer"], metadata.get("revocation_endpoint")), (&json!("https://attacker.example"), None));
    assert_eq!(get(&server, "/.well-known/oauth-authorization-server").await.status, 404);
    assert_eq!(get(&server, "/custom").await.json()["resource"], "https://evil.example/mcp");
    assert_eq!(use_token(&server, None, "initialize", json!({})).await, (401, "Bearer".to_owned()));
    let query = encoded(&[
        ("client_id", "https://app.example/client.json"),
        ("redirect_uri", REDIRECT),
        ("response_type", "code"),
        ("code_challenge", "x"),
        ("code_challenge_method", "S256"),
        ("state", "s"),
    ]);
    let answer = get(&server, &format!("/tenant1/authorize?{query}")).await;
    let to = answer.header("location").unwrap();
    assert!(to.contains("iss=https%3A%2F%2Fevil.example") && !to.contains("state="), "{to}");
}

/// A proof, made by hand.
fn proof(key: &EcdsaKeyPair, method: &str, target: &str, token: Option<&str>, nonce: Option<&str>) -> String {
    let part = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    let jwk = json!({"kty": "EC", "crv": "P-256", "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y)});
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({"jti": "j", "htm": method, "htu": target, "iat": now});
    if let Some(token) = token {
        claims["ath"] = json!(challenge(token));
    }
    if let Some(nonce) = nonce {
        claims["nonce"] = json!(nonce);
    }
    let signed = format!("{}.{}", part(json!({"typ": "dpop+jwt", "alg": "ES256", "jwk": jwk})), part(claims));
    let signature = key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap()
}

#[tokio::test]
async fn a_bound_token_is_good_with_its_key_and_the_nonce() {
    let server = server(json!({"dpop": true, "dpop_nonce": true}), json!({"dpop_nonce": true}), json!([])).await;
    let endpoint = format!("http://127.0.0.1:{}/token", server.port());
    let (key, other) = (key(), key());
    let client = register(&server).await;
    let ask = |proof: String| {
        let (server, client) = (&server, &client);
        async move {
            let code = authorize(server, client, &[]).await["code"].clone();
            let form = [
                ("grant_type", "authorization_code"),
                ("client_id", client.as_str()),
                ("code", &code),
                ("redirect_uri", REDIRECT),
                ("code_verifier", "verifier"),
            ];
            post(server, "/token", &format!("DPoP: {proof}\r\n"), &form).await.unwrap()
        }
    };
    let without = ask(proof(&key, "POST", &endpoint, None, None)).await;
    assert_eq!((without.status, &without.json()["error"]), (400, &json!("use_dpop_nonce")));
    let nonce = without.header("dpop-nonce").unwrap().to_owned();
    let wrong = ask(proof(&key, "GET", &endpoint, None, Some(&nonce))).await;
    assert_eq!(wrong.json()["error"], "invalid_dpop_proof");
    let answer = ask(proof(&key, "POST", &endpoint, None, Some(&nonce))).await.json();
    assert_eq!(answer["token_type"], "DPoP");
    let token = answer["access_token"].as_str().unwrap();
    let use_it = |scheme: &'static str, proof: Option<String>| {
        let server = &server;
        async move {
            let proof = proof.map(|proof| format!("DPoP: {proof}\r\n")).unwrap_or_default();
            let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}).to_string();
            let extra = format!("Authorization: {scheme} {token}\r\n{proof}");
            let answer = request(server, "POST", "/mcp", &extra, &body).await.unwrap();
            (answer.status, answer.header("dpop-nonce").map(str::to_owned))
        }
    };
    let good = || proof(&key, "POST", server.url(), Some(token), Some(&nonce));
    assert_eq!(use_it("DPoP", Some(good())).await, (200, None));
    assert_eq!(use_it("Bearer", Some(good())).await, (401, None), "no bearer token");
    assert_eq!(use_it("DPoP", None).await, (401, None), "no proof");
    let stolen = proof(&other, "POST", server.url(), Some(token), Some(&nonce));
    assert_eq!(use_it("DPoP", Some(stolen)).await, (401, None), "another key");
    let hash = proof(&key, "POST", server.url(), Some("other"), Some(&nonce));
    assert_eq!(use_it("DPoP", Some(hash)).await, (401, None), "the proof of another token");
    server.change_nonce();
    let (status, newer) = use_it("DPoP", Some(good())).await;
    assert_eq!((status, newer.as_deref()), (401, Some("nonce-1")));
    assert_eq!(use_it("DPoP", Some(proof(&key, "POST", server.url(), Some(token), Some("nonce-1")))).await.0, 200);
}
