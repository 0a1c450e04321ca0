//! A server, or a gateway before it, that repeats what it was sent as secret, wherever it can say something.

use std::error::Error as _;
use std::sync::{Arc, Mutex};

use oncewire::transport::scripted::{Arrival, Reply, Server};
use oncewire::{Client, ClientBuilder, Era, Error, EventName};
use serde_json::{Value, json};
use test_case::test_case;

use crate::support::{Log, NOTHING};

/// What the client is given: a token, headers, a key in the URL.
const SECRETS: [&str; 5] = ["hush-token", "hush/header", "hush-asked", "hush-query", "hush-part-of-path-01"];

/// All that a server sees of a request that is secret, near the place where texts are shortened, and written in several ways.
fn echo(arrival: &Arrival) -> String {
    let of = |name| arrival.header(name).unwrap_or_default().to_owned();
    let (token, fixed, asked, session) = (of("authorization"), of("x-key"), of("x-asked"), of("mcp-session-id"));
    let fixed_in_url = fixed.replace('/', "%2F");
    let padding = "x".repeat(160);
    format!("{token} {padding} {fixed} {asked} {fixed_in_url} hush-query /hush-part-of-path-01 {session} {token}")
}

fn secretive(builder: ClientBuilder) -> ClientBuilder {
    builder
        .token("hush-token")
        .header("x-key", "hush/header")
        .header_provider(|| async { Ok(vec![("x-asked".to_owned(), "hush-asked".to_owned())]) })
}

/// Which answer to which method repeats it.
#[derive(Clone, Copy, PartialEq)]
enum Says {
    ErrorOfOurs,
    ErrorOfNobody,
    Page,
    TextError,
    Redirect,
    Version,
}

fn said(says: Says, arrival: &Arrival) -> Reply {
    let echo = echo(arrival);
    match says {
        Says::ErrorOfOurs => Reply::json(
            200,
            &json!({
                "jsonrpc": "2.0",
                "id": arrival.json_id(),
                "error": { "code": -32000, "message": echo, "data": { "headers": [echo], "code": 7 } },
            }),
        ),
        Says::ErrorOfNobody => Reply::json(400, &json!({ "id": null, "error": { "code": -32000, "message": echo } })),
        Says::Page => Reply::text(502, &format!("<pre>{echo}</pre>")),
        Says::TextError => Reply::json(403, &json!({ "error": echo })),
        Says::Redirect => {
            Reply::new(302).header("location", "http://other.test/hush-token/hush%2Fheader?key=hush-query#hush-asked")
        }
        Says::Version => arrival.result(&json!({ "protocolVersion": echo, "capabilities": {}, "serverInfo": {} })),
    }
}

fn texts(error: &Error) -> Vec<String> {
    let mut texts = vec![error.to_string(), format!("{error:?}"), error.to_json().to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        texts.extend([error.to_string(), format!("{error:?}")]);
        source = error.source();
    }
    texts
}

fn assert_silent(texts: impl IntoIterator<Item = String>, session: Option<&str>) {
    for text in texts {
        let shown = SECRETS.iter().copied().chain(session).find(|secret| text.contains(secret));
        assert_eq!(shown, None, "{text}");
        assert!(!text.contains("hush%2F"), "{text}");
    }
}

#[test_case("tools/call", Says::ErrorOfOurs; "an error that answers the call")]
#[test_case("tools/call", Says::ErrorOfNobody; "an error without an id")]
#[test_case("tools/call", Says::Page; "a page in place of the answer")]
#[test_case("tools/call", Says::TextError; "an error that is a text")]
#[test_case("tools/call", Says::Redirect; "a redirect")]
#[test_case("initialize", Says::ErrorOfOurs; "an error that answers the handshake")]
#[test_case("initialize", Says::Page; "a page in place of the handshake")]
#[test_case("initialize", Says::TextError; "a refused handshake")]
#[test_case("initialize", Says::Redirect; "a redirected handshake")]
#[test_case("initialize", Says::Version; "a version that nobody knows")]
#[test_case("server/discover", Says::Page; "a page in place of the probe")]
#[tokio::test(start_paused = true)]
async fn what_the_server_repeats_shows_nowhere(method: &'static str, says: Says) {
    let server = Server::new();
    let exchange = server.scripted(move |arrival, server| async move {
        if arrival.method() == method { Ok(said(says, &arrival)) } else { server.answer(&arrival).await }
    });
    let log = Log::default();
    let builder =
        Client::builder("http://server.test/hush-part-of-path-01/mcp?key=hush-query").exchange(exchange.clone());
    let builder = builder.era(if method == "server/discover" { Era::Modern } else { Era::Legacy }).listen(false);
    let client = secretive(builder).on_event(log.observer()).build().unwrap();
    let error = client.call_tool("poke", NOTHING).await.unwrap_err();
    let session = server.sessions().first().map(|session| session.id.clone());
    let repeats = says != Says::Version && says != Says::Redirect;
    let shown = texts(&error);
    // The server's own data may be a link that is made with it.
    let in_error = session.as_deref().filter(|_| says != Says::ErrorOfOurs);
    assert!(!repeats || shown.iter().any(|text| text.contains("[redacted]")), "{shown:?}");
    assert_silent(shown, in_error);
    client.close().await;
    let names = log.names();
    let events = names.iter().flat_map(|name| log.of(*name));
    assert_silent(events.map(|event| serde_json::to_string(&event).unwrap()), session.as_deref());
}

#[tokio::test(start_paused = true)]
async fn data_keeps_its_shape_and_the_other_members() {
    let exchange = Server::new().scripted(|arrival, server| async move {
        if arrival.method() != "tools/call" {
            return server.answer(&arrival).await;
        }
        let data = json!({ "token": "hush-token", "n": 18_446_744_073_709_551_615_u64, "link": "http://server.test/?t=hush-token" });
        let error = json!({ "code": -32042, "message": "log in", "data": data });
        Ok(Reply::json(200, &json!({ "jsonrpc": "2.0", "id": arrival.json_id(), "error": error })))
    });
    let client = secretive(crate::support::builder(&exchange)).connect().await.unwrap();
    let Err(Error::Answered(failure)) = client.call_tool("poke", NOTHING).await else { panic!("not answered") };
    let data: Value = serde_json::from_str(failure.data.unwrap().get()).unwrap();
    let expected = json!({ "token": "[redacted]", "n": 18_446_744_073_709_551_615_u64, "link": "http://server.test/?t=[redacted]" });
    assert_eq!((failure.code, &*failure.message, data), (-32042, "log in", expected));
}

#[tokio::test(start_paused = true)]
async fn what_the_host_fails_with_shows_no_token() {
    let exchange = Server::new().scripted(|arrival, server| async move {
        if arrival.method() == "tools/call" {
            return Ok(Reply::new(401).header("www-authenticate", "Bearer"));
        }
        server.answer(&arrival).await
    });
    let log = Log::default();
    let client = crate::support::builder(&exchange)
        .token_provider(|refused| async move {
            match refused {
                None => Ok("hush-token".to_owned()),
                Some(refused) => Err(format!("cannot renew {refused}").into()),
            }
        })
        .on_event(log.observer())
        .connect()
        .await
        .unwrap();
    let error = client.call_tool("poke", NOTHING).await.unwrap_err();
    assert!(error.to_string().contains("cannot renew [redacted]"), "{error}");
    assert_silent(texts(&error), None);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_restored_is_told_without_secrets() {
    let server = Server::new();
    let exchange = server.scripted(|arrival, server| async move {
        let again = arrival.method() == "resources/subscribe" && server.sessions().len() > 1;
        if again { Ok(said(Says::ErrorOfOurs, &arrival)) } else { server.answer(&arrival).await }
    });
    let log = Log::default();
    let client = secretive(crate::support::builder(&exchange)).on_event(log.observer()).connect().await.unwrap();
    client.subscribe("mem://a").await.unwrap();
    client.recover().await.unwrap();
    exchange.ledger().arrivals("resources/subscribe", 2).await;
    client.close().await;
    let events = log.of(EventName::RestoreFailed);
    assert_eq!(events.len(), 1);
    assert_silent(events.iter().map(|event| serde_json::to_string(event).unwrap()), None);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_replaced_is_a_secret_still() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let exchange = Server::new().scripted({
        let seen = Arc::clone(&seen);
        move |arrival, server| {
            let token = arrival.header("authorization").unwrap_or_default().to_owned();
            let said = {
                let mut seen = seen.lock().unwrap();
                if !seen.contains(&token) {
                    seen.push(token.clone());
                }
                seen.join(", ")
            };
            async move {
                match arrival.method() {
                    "tools/call" if token == "Bearer hush-token-0" => {
                        Ok(Reply::new(401).header("www-authenticate", "Bearer"))
                    }
                    "tools/call" => Ok(Reply::text(500, &said)),
                    _ => server.answer(&arrival).await,
                }
            }
        }
    });
    let client = crate::support::builder(&exchange)
        .token_provider(|refused| async move { Ok(format!("hush-token-{}", u8::from(refused.is_some()))) })
        .connect()
        .await
        .unwrap();
    let error = client.call_tool("peek", NOTHING).await.unwrap_err();
    assert_eq!(seen.lock().unwrap().len(), 2);
    assert_eq!(error.failure().unwrap().excerpt.as_deref(), Some("Bearer [redacted], Bearer [redacted]"));
    assert_silent(texts(&error), None);
}
