//! A modern connection in doubt: one refusal does not demote it, and refused terms are stated anew only for what may run twice.

use std::sync::Arc;

use oncewire::transport::scripted::{Arrival, Reply, Scripted, Server};
use oncewire::{Error, EventName, Execution, Resend};
use serde_json::{Value, json};

use crate::support::{Log, NOTHING, at_once, either_era, failure, scripted};

fn refused(arrival: &Arrival, code: i64) -> Reply {
    match code {
        -32_022 => Server::other_versions(arrival, &["2026-07-28"]),
        code => Reply::json(400, &arrival.error_message(code, "Header mismatch")),
    }
}

/// The first `times` calls and reads are refused with this code; the server has run them before if it says so.
fn refusing(server: &Server, code: i64, times: usize, ran: bool) -> Arc<Scripted> {
    let tools = server.clone();
    scripted(server, move |arrival, nth| {
        let refuses = matches!(arrival.method(), "tools/call" | "resources/read") && nth < times;
        if refuses && ran {
            tools.execute(&arrival);
        }
        async move { refuses.then(|| Ok(refused(&arrival, code))) }
    })
}

fn code<T: std::fmt::Debug>(outcome: Result<T, Error>) -> i64 {
    match outcome {
        Err(Error::Answered(answered)) => answered.code,
        other => panic!("not answered: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn one_refusal_without_an_answer_does_not_demote_a_running_connection() {
    for status in [400, 403, 404, 405, 415] {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, nth| async move {
            (arrival.method() == "resources/read" && nth == 0).then(|| Ok(Reply::text(status, "no")))
        });
        let log = Log::default();
        let client = either_era(&exchange).on_event(log.observer()).connect().await.unwrap();
        let failure = failure(client.read_resource("mem://a").await);
        assert_eq!((failure.execution, failure.proof), (Execution::MayHaveExecuted, None), "{status}");
        let calls = at_once(16, |_| {
            let client = client.clone();
            async move { client.call_tool("poke", NOTHING).await }
        });
        assert!(calls.await.iter().all(Result::is_ok), "{status}");
        assert_eq!((client.era(), client.generation()), (Some(oncewire::Lifecycle::Modern), 1));
        assert_eq!(exchange.ledger().count("server/discover"), 3, "the twin, and verified once");
        assert_eq!(exchange.ledger().count("initialize"), 0);
        assert!(log.of(EventName::SessionLost).is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_verification_that_is_refused_too_leads_to_the_question_and_not_to_a_handshake() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        let gateway = matches!((arrival.method(), nth), ("resources/read", 0) | ("server/discover", 1 | 2));
        gateway.then(|| Ok(Reply::text(404, "no upstream")))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    failure(client.read_resource("mem://a").await);
    client.call_tool("poke", NOTHING).await.unwrap();
    assert_eq!((client.era(), client.generation()), (Some(oncewire::Lifecycle::Modern), 2));
    assert_eq!((exchange.ledger().count("server/discover"), exchange.ledger().count("initialize")), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_verification_that_says_nothing_leaves_the_connection_as_it_is() {
    for status in [401, 429, 500, 503] {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, nth| async move {
            match (arrival.method(), nth) {
                ("resources/read", 0) => Some(Ok(Reply::text(404, "no upstream"))),
                ("server/discover", 1 | 2) => Some(Ok(Reply::new(status))),
                _ => None,
            }
        });
        let client = either_era(&exchange).connect().await.unwrap();
        failure(client.read_resource("mem://a").await);
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!((client.generation(), exchange.ledger().count("server/discover")), (1, 3), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn refused_terms_are_stated_once_more_for_what_may_run_twice() {
    for code_of_refusal in [-32_020, -32_022] {
        for tool in [None, Some("peek"), Some("nudge")] {
            let server = Server::modern();
            let exchange = refusing(&server, code_of_refusal, 1, false);
            let client = either_era(&exchange).connect().await.unwrap();
            match tool {
                Some(tool) => drop(client.call_tool(tool, NOTHING).await.unwrap()),
                None => drop(client.read_resource("mem://a").await.unwrap()),
            }
            let ledger = exchange.ledger();
            assert_eq!(ledger.count("server/discover"), 2, "{code_of_refusal} {tool:?}: verified once");
            assert_eq!(ledger.count("tools/list"), if tool.is_some() { 2 } else { 0 }, "read anew");
            assert_eq!((client.generation(), server.executions().len()), (1, ledger.count("tools/list") + 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn terms_that_are_refused_again_are_the_answer() {
    for code_of_refusal in [-32_020, -32_022] {
        let server = Server::modern();
        let exchange = refusing(&server, code_of_refusal, usize::MAX, false);
        let client = either_era(&exchange).connect().await.unwrap();
        assert_eq!(code(client.read_resource("mem://a").await), code_of_refusal);
        assert_eq!(code(client.call_tool("peek", NOTHING).await), code_of_refusal);
        assert_eq!(exchange.ledger().count("resources/read"), 2);
        assert_eq!(exchange.ledger().count("tools/call"), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_without_leave_is_never_sent_again_because_of_its_terms() {
    for code_of_refusal in [-32_020, -32_022] {
        let server = Server::modern();
        let exchange = refusing(&server, code_of_refusal, 1, true);
        let client = either_era(&exchange).connect().await.unwrap();
        assert_eq!(code(client.call_tool("poke", NOTHING).await), code_of_refusal);
        assert_eq!((server.executed("poke"), exchange.ledger().count("tools/call")), (1, 1));
        client.call_tool("poke", NOTHING).await.unwrap();
        assert_eq!(exchange.ledger().count("tools/list"), 2, "the tools are read anew for the next call");
        let exchange = refusing(&Server::modern(), code_of_refusal, 1, false);
        let client = either_era(&exchange).connect().await.unwrap();
        client.call_tool("poke", NOTHING).resend(Resend::Always).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_is_new_in_the_tools_goes_along_the_second_time() {
    let server = Server::modern();
    let exchange = scripted(&server, |arrival, nth| async move {
        let region = match (arrival.method(), nth) {
            ("tools/list", 0) => json!({ "type": "string" }),
            ("tools/list", _) => json!({ "type": "string", "x-mcp-header": "Region" }),
            ("tools/call", _) if arrival.header("mcp-param-region") != Some("west") => {
                return Some(Ok(refused(&arrival, -32_020)));
            }
            _ => return None,
        };
        let schema = json!({ "type": "object", "properties": { "region": region } });
        let annotations = json!({ "readOnlyHint": true });
        let tools = json!({ "tools": [{ "name": "peek", "inputSchema": schema, "annotations": annotations }] });
        Some(Ok(arrival.result(&tools)))
    });
    let client = either_era(&exchange).connect().await.unwrap();
    client.call_tool("peek", json!({ "region": "west" })).await.unwrap();
    let headers: Vec<_> = exchange
        .ledger()
        .of("tools/call")
        .iter()
        .map(|call| call.header("mcp-param-region").map(str::to_owned))
        .collect();
    assert_eq!(headers, [None, Some("west".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn any_other_error_is_the_answer_whatever_its_status() {
    for (status, code_of_error) in [(404, -32_601), (400, -32_602), (400, -32_021), (200, -32_603), (500, -32_000)] {
        let server = Server::modern();
        let exchange = scripted(&server, move |arrival, _| async move {
            let error = arrival.error_message(code_of_error, "no");
            (arrival.method() == "resources/read").then(|| Ok(Reply::json(status, &error)))
        });
        let client = either_era(&exchange).connect().await.unwrap();
        assert_eq!(code(client.read_resource("mem://a").await), code_of_error);
        client.call_tool("poke", Value::Null).await.unwrap();
        // A server that was rolled back may say so in any words: a 4xx makes the next request ask first.
        let asks: &[&str] = if (400..500).contains(&status) { &["server/discover"] } else { &[] };
        let expected = [&["server/discover", "resources/read"], asks, &["tools/list", "tools/call"]].concat();
        assert_eq!(exchange.ledger().methods(), expected, "{status}");
    }
}
