//! Hosts of both eras before servers of both.

use oncewire_tests::server::{Era, FaultServer, Options};
use serde_json::json;
use test_case::test_case;

use crate::host::{Host, Speaks, runs, server};

async fn of_era(era: Era) -> FaultServer {
    server(Options { era, ..Options::default() }, json!([])).await
}

#[test_case(Speaks::Legacy, Era::Legacy)]
#[test_case(Speaks::Legacy, Era::Modern)]
#[test_case(Speaks::Legacy, Era::Dual)]
#[test_case(Speaks::Modern, Era::Legacy)]
#[test_case(Speaks::Modern, Era::Modern)]
#[tokio::test]
async fn everything_passes(speaks: Speaks, era: Era) {
    let server = of_era(era).await;
    let mut host = Host::start(server.url(), speaks, &[]);
    let introduced = host.introduce().await["result"].clone();
    if speaks == Speaks::Legacy {
        assert_eq!(introduced["protocolVersion"], "2025-11-25");
        assert_eq!(introduced["serverInfo"]["name"], "fault-server");
        assert!(introduced.get("supportedVersions").is_none(), "{introduced}");
    } else {
        assert_eq!(introduced["supportedVersions"], json!(["2026-07-28"]));
        assert_eq!(introduced["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "fault-server");
        assert_eq!(introduced["resultType"], "complete");
    }
    assert_eq!(introduced["instructions"], "Fails on purpose.");
    let reference = json!({ "type": "ref/prompt", "name": "hello" });
    for (method, params, pointer) in [
        ("tools/list", json!({}), "/tools/0/inputSchema"),
        ("resources/list", json!({}), "/resources/0/uri"),
        ("resources/templates/list", json!({}), "/resourceTemplates/0/uriTemplate"),
        ("prompts/list", json!({}), "/prompts/0/name"),
        ("tools/call", json!({ "name": "poke", "arguments": { "a": 1 } }), "/content/0/text"),
        ("resources/read", json!({ "uri": "mem://a" }), "/contents/0/text"),
        ("prompts/get", json!({ "name": "hello" }), "/messages/0/content"),
        (
            "completion/complete",
            json!({ "ref": reference, "argument": { "name": "a", "value": "" } }),
            "/completion/values/1",
        ),
        ("dev.oncewire.tests/custom", json!({ "deep": { "n": 18_446_744_073_709_551_615_u64 } }), "/params/deep/n"),
    ] {
        let answer = host.request(method, params).await;
        assert!(answer["result"].pointer(pointer).is_some(), "{method}: {answer}");
        if speaks == Speaks::Modern {
            assert_eq!(answer["result"]["resultType"], "complete", "{method}: {answer}");
            if method.ends_with("/list") || method == "resources/read" {
                assert!(
                    answer["result"]["ttlMs"].is_u64() && answer["result"]["cacheScope"].is_string(),
                    "{method}: {answer}"
                );
            }
        }
    }
    let unknown = host.request("no/such", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32_601, "{unknown}");
    let (status, stderr) = host.end().await;
    assert!(status.success(), "{stderr}");
    let ledger = server.ledger();
    assert_eq!(runs(&ledger, "poke"), 1);
    assert!(ledger.sessions.iter().all(|session| session.deletes == 1), "{:?}", ledger.sessions);
    let malformed: Vec<_> = ledger.arrivals.iter().filter(|arrival| arrival.malformed.is_some()).collect();
    assert!(malformed.is_empty(), "{malformed:?}");
}

#[tokio::test]
async fn an_old_host_is_told_the_version_that_it_asked_for() {
    let server = of_era(Era::Legacy).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &[]);
    let params =
        json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": { "name": "old", "version": "1" } });
    let answer = host.request("initialize", params).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-03-26");
    host.request("ping", json!({})).await;
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_refused_with_those_that_are_spoken() {
    let server = of_era(Era::Modern).await;
    let mut host = Host::start(server.url(), Speaks::Legacy, &[]);
    let meta = json!({ crate::host::VERSION: "2031-01-01" });
    let answer = host.request("server/discover", json!({ "_meta": meta })).await;
    assert_eq!(answer["error"]["code"], -32_022);
    assert_eq!(answer["error"]["data"]["supported"], json!(["2026-07-28"]));
    assert_eq!(server.ledger().arrivals.len(), 0);
}
