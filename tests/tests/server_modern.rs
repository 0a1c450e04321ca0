//! The modern era of the fault server, request by request.

#![allow(clippy::unwrap_used, reason = "a helper of tests")]

mod raw;

use oncewire_tests::server::{Era, FaultServer, Lifecycle, Push, Script};
use raw::{Answer, Raw};
use serde_json::{Value, json};

const VERSION: &str = "2026-07-28";

async fn server(options: Value) -> FaultServer {
    scripted(options, json!([])).await
}

async fn scripted(mut options: Value, rules: Value) -> FaultServer {
    if options.get("era").is_none() {
        options["era"] = json!("modern");
    }
    let script: Script = serde_json::from_value(json!({"options": options, "rules": rules})).unwrap();
    FaultServer::start(script).await.unwrap()
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    })
}

fn headers(method: &str, params: &Value) -> String {
    let name = ["name", "uri"].iter().find_map(|key| params[key].as_str());
    let name = name.filter(|_| ["tools/call", "prompts/get", "resources/read"].contains(&method));
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    format!("MCP-Protocol-Version: {VERSION}\r\nMcp-Method: {method}\r\n{name}")
}

async fn send(raw: &mut Raw, method: &str, mut params: Value, extra: &str) {
    let headers = headers(method, &params) + extra;
    params["_meta"] = meta();
    let message = raw.message(method, params);
    raw.send("POST", "/mcp", &headers, &message.to_string()).await;
}

async fn call(raw: &mut Raw, method: &str, params: Value) -> Answer {
    send(raw, method, params, "").await;
    raw.answer().await.unwrap()
}

fn malformed(server: &FaultServer) -> Vec<String> {
    server.ledger().arrivals.into_iter().filter_map(|arrival| arrival.malformed).collect()
}

#[tokio::test]
async fn a_correct_client_is_served_without_a_handshake() {
    let server = server(json!({"keep": {"tools/list": {"ttl_ms": 500, "scope": "public"}}})).await;
    let mut raw = Raw::connect(&server).await;
    let discovered = call(&mut raw, "server/discover", json!({})).await;
    assert_eq!((discovered.status, discovered.header("mcp-session-id")), (200, None));
    let result = &discovered.json()["result"];
    assert_eq!(result["supportedVersions"], json!([VERSION]));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fault-server");
    assert_eq!(
        (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
        (&json!("complete"), &json!(0), &json!("private"))
    );

    let listed = call(&mut raw, "tools/list", json!({})).await.json();
    assert_eq!((&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]), (&json!(500), &json!("public")));
    let poked = call(&mut raw, "tools/call", json!({"name": "poke", "arguments": {}})).await.json();
    assert_eq!((&poked["result"]["resultType"], poked["result"].get("ttlMs")), (&json!("complete"), None));
    let missing = call(&mut raw, "resources/read", json!({"uri": "no://where"})).await;
    assert_eq!((missing.status, &missing.json()["error"]["code"]), (200, &json!(-32602)));
    let unknown = call(&mut raw, "ping", json!({})).await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"], &unknown.json()["id"]),
        (404, &json!(-32601), &json!(5))
    );

    let ledger = server.ledger();
    assert_eq!((malformed(&server), ledger.sessions.len(), ledger.executions_of("tools/call", None)), (vec![], 0, 1));
    assert_eq!(ledger.executions_of("server/discover", None), 0);
    let arrival = &ledger.arrivals[2];
    assert_eq!((arrival.mcp_method.as_deref(), arrival.mcp_name.as_deref()), (Some("tools/call"), Some("poke")));
    assert_eq!(
        (arrival.era, arrival.meta["io.modelcontextprotocol/protocolVersion"].as_str()),
        (Lifecycle::Modern, Some(VERSION))
    );
    assert_eq!(ledger.by_rpc["server/discover"], 1);
}

#[tokio::test]
async fn a_wrong_client_is_refused_for_what_is_wrong() {
    let server = server(json!({})).await;
    let mut raw = Raw::connect(&server).await;
    let params = json!({"name": "poke", "_meta": meta()});
    let good = headers("tools/call", &params);
    let without = |what: &str| {
        good.lines().filter(|line| !line.contains(what)).map(|line| format!("{line}\r\n")).collect::<String>()
    };
    let other = |from: &str, to: &str| good.replace(from, to);
    for (headers, params, status, code) in [
        (without("Mcp-Method"), params.clone(), 400, -32020),
        (without("Mcp-Name"), params.clone(), 400, -32020),
        (without("Version"), params.clone(), 400, -32020),
        (other("tools/call", "tools/list"), params.clone(), 400, -32020),
        (other("poke", "peek"), params.clone(), 400, -32020),
        (other("poke", "=?base64?cG9rZQ=?="), params.clone(), 400, -32020),
        (other(VERSION, "2025-11-25"), params.clone(), 400, -32020),
        (good.clone(), json!({"name": "poke"}), 400, -32602),
        (
            good.clone(),
            json!({"name": "poke", "_meta": {"io.modelcontextprotocol/protocolVersion": VERSION}}),
            400,
            -32602,
        ),
    ] {
        let message = raw.message("tools/call", params.clone());
        raw.send("POST", "/mcp", &headers, &message.to_string()).await;
        let answer = raw.answer().await.unwrap();
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &json!(code)), "{headers} {params}");
        assert_eq!(answer.json()["id"], message["id"]);
    }
    assert_eq!((malformed(&server).len(), server.ledger().executions.len()), (9, 0));

    let encoded = other("poke", "=?base64?cG9rZQ==?=");
    let message = raw.message("tools/call", params);
    raw.send("POST", "/mcp", &encoded, &message.to_string()).await;
    assert_eq!(raw.answer().await.unwrap().status, 200);

    // Served, but no correct client sends it.
    send(&mut raw, "tools/list", json!({}), "Mcp-Session-Id: s\r\n").await;
    assert_eq!(raw.answer().await.unwrap().status, 200);
    let headers = format!("MCP-Protocol-Version: {VERSION}\r\n");
    raw.send("POST", "/mcp", &headers, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#).await;
    assert_eq!(raw.answer().await.unwrap().status, 202);
    raw.send("GET", "/mcp", &headers, "").await;
    assert_eq!(raw.answer().await.unwrap().status, 405);
    assert_eq!(malformed(&server).len(), 12);
}

#[tokio::test]
async fn versions_and_clients_of_the_other_era_are_refused_and_told_what_there_is() {
    let server = server(json!({"modern_versions": ["2027-01-01"]})).await;
    let mut raw = Raw::connect(&server).await;
    let answer = call(&mut raw, "server/discover", json!({})).await;
    let error = &answer.json()["error"];
    assert_eq!((answer.status, &error["code"]), (400, &json!(-32022)));
    assert_eq!(error["data"], json!({"supported": ["2027-01-01"], "requested": VERSION}));

    let answer = raw.rpc("initialize", json!({"protocolVersion": "2025-11-25"})).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32022)));
    assert_eq!(answer.json()["error"]["data"]["requested"], "2025-11-25");
    for method in ["GET", "DELETE"] {
        raw.send(method, "/mcp", "", "").await;
        assert_eq!(raw.answer().await.unwrap().status, 405, "{method}");
    }
    assert_eq!(malformed(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_server_can_speak_both_and_become_another() {
    let server = server(json!({"era": "dual"})).await;
    let mut old = Raw::ready(&server).await;
    let mut new = Raw::connect(&server).await;
    let result = call(&mut new, "tools/call", json!({"name": "poke"})).await.json();
    assert_eq!(result["result"]["resultType"], "complete");
    let result = old.call("poke").await.json();
    assert_eq!(result["result"].get("resultType"), None);

    server.become_era(Era::Modern);
    assert_eq!(old.call("poke").await.json()["error"]["code"], -32022);
    assert_eq!(call(&mut new, "tools/list", json!({})).await.status, 200);

    server.become_era(Era::Legacy);
    let answer = call(&mut new, "tools/call", json!({"name": "poke"})).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32000)));
    assert_eq!(old.call("poke").await.status, 404, "the session was forgotten");
    old.handshake().await;
    assert_eq!(old.call("poke").await.status, 200);
    server.change_options(|options| options.sessions = false);
    let answer = call(&mut new, "server/discover", json!({})).await;
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("Unsupported protocol version: 2026-07-28"), "{}", answer.body);
    assert_eq!(malformed(&server), Vec::<String>::new());
}

#[tokio::test]
async fn a_rule_makes_it_become_another() {
    let server =
        scripted(json!({"era": "legacy"}), json!([{"when": {"name": "poke"}, "do": [{"become": "modern"}, "answer"]}]))
            .await;
    let mut raw = Raw::ready(&server).await;
    raw.call("poke").await;
    assert_eq!(raw.call("peek").await.status, 400);
    assert!(server.ledger().sessions[0].forgotten);
}

#[tokio::test]
async fn arguments_are_compared_with_their_headers() {
    let schema = json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let server = server(json!({"tools": {"far": {"inputSchema": schema}}})).await;
    let mut raw = Raw::connect(&server).await;
    let listed = call(&mut raw, "tools/list", json!({})).await.json();
    assert_eq!(listed["result"]["tools"][5]["inputSchema"], schema);
    let params = json!({"name": "far", "arguments": {"region": "é"}});
    let answer = call(&mut raw, "tools/call", params.clone()).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (400, &json!(-32020)));
    send(&mut raw, "tools/call", params, "Mcp-Param-Region: =?base64?w6k=?=\r\n").await;
    assert_eq!(raw.answer().await.unwrap().json()["result"]["content"][0]["text"], "far done");
    assert_eq!(server.ledger().arrivals[2].mcp_params["region"], "=?base64?w6k=?=");
}

#[tokio::test]
async fn a_tool_asks_and_knows_its_answer_again() {
    let round =
        json!({"requests": {"who": {"method": "elicitation/create", "params": {"message": "who?"}}}, "state": "s1"});
    let sampling = json!({"rounds": [{"requests": {"a": {"method": "sampling/createMessage"}}}]});
    let server = server(json!({"asks": {"poke": {"rounds": [round]}, "peek": sampling}})).await;
    let mut raw = Raw::connect(&server).await;
    let asked = call(&mut raw, "tools/call", json!({"name": "poke"})).await.json();
    assert_eq!(asked["result"]["resultType"], "input_required");
    assert_eq!(asked["result"]["inputRequests"]["who"]["params"]["message"], "who?");
    let leg = json!({"name": "poke", "inputResponses": {"who": {"action": "accept"}}, "requestState": "s1"});
    assert_eq!(call(&mut raw, "tools/call", leg.clone()).await.json()["result"]["content"][0]["text"], "poke done");
    let mut wrong = leg;
    wrong["requestState"] = json!("s2");
    assert_eq!(call(&mut raw, "tools/call", wrong).await.json()["error"]["code"], -32602);
    let lacks = call(&mut raw, "tools/call", json!({"name": "peek"})).await;
    assert_eq!((lacks.status, &lacks.json()["error"]["code"]), (400, &json!(-32021)));
    assert_eq!(lacks.json()["error"]["data"]["requiredCapabilities"], json!({"sampling": {}}));
    let asked: Vec<_> = server.ledger().executions.iter().map(|run| run.asked).collect();
    assert_eq!(asked, [true, false, false, false]);
}

#[tokio::test]
async fn a_subscription_gets_what_its_filter_names_until_it_ends() {
    let server = server(json!({})).await;
    let mut raw = Raw::connect(&server).await;
    let filter = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": ["mem://a"]}});
    send(&mut raw, "subscriptions/listen", filter, "").await;
    let begin = raw.until("\n\n").await;
    assert!(
        begin.contains("text/event-stream") && begin.contains("notifications/subscriptions/acknowledged"),
        "{begin}"
    );
    assert!(begin.contains(r#""_meta":{"io.modelcontextprotocol/subscriptionId":1}"#), "{begin}");
    let push = |method: &str, params: Value| server.push(&Push { id: None, method: method.to_owned(), params });
    assert_eq!(push("notifications/prompts/list_changed", Value::Null), 0);
    assert_eq!(push("notifications/resources/updated", json!({"uri": "mem://b"})), 0);
    assert_eq!(push("notifications/resources/updated", json!({"uri": "mem://a"})), 1);
    let pushed = raw.until("\n\n").await;
    assert!(pushed.contains(r#""uri":"mem://a""#) && pushed.contains("subscriptionId\":1"), "{pushed}");
    assert_eq!(server.end_subscriptions(), 1);
    let end = raw.until("0\r\n\r\n").await;
    assert!(end.contains(r#""id":1"#) && end.contains(r#""resultType":"complete""#), "{end}");
    server.until(|ledger| ledger.arrivals[0].answered_at_ms.is_some()).await;
    assert_eq!((server.end_subscriptions(), malformed(&server)), (0, vec![]));

    server.change_options(|options| options.listen = oncewire_tests::server::GetStream::NotAllowed);
    assert_eq!(call(&mut raw, "subscriptions/listen", json!({"notifications": {}})).await.status, 404);
}

#[tokio::test]
async fn the_end_of_the_stream_cancels_the_run() {
    let server = server(json!({"slow_ms": 60_000})).await;
    let mut raw = Raw::connect(&server).await;
    send(&mut raw, "tools/call", json!({"name": "slow"}), "").await;
    server.until(|ledger| ledger.executions.len() == 1).await;
    drop(raw);
    server.until(|ledger| ledger.executions[0].cancelled_at_ms.is_some()).await;
    let ledger = server.ledger();
    assert!(ledger.executions[0].ended_ms.is_none() && ledger.arrivals[0].client_gone_at_ms.is_some());
}
