//! Tools, prompts and resources that ask before they answer (`input_required`).
//!
//! The server keeps nothing between two legs: which round a leg answers is known by what it carries.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::CLIENT_CAPABILITIES;
use crate::server::request::Rpc;
use crate::server::script::Options;

/// What is asked, round by round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Asking {
    /// The rounds.
    pub rounds: Vec<Round>,
    /// Whether the last round is asked again and again.
    pub for_ever: bool,
    /// Whether the server asks also for what the client did not declare, which it must not.
    pub undeclared: bool,
}

/// One round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Round {
    /// `inputRequests`: each with `method` and `params`. Absent on the wire if empty.
    pub requests: Map<String, Value>,
    /// `requestState`
    pub state: Option<String>,
}

/// What a leg leads to.
#[derive(Debug, PartialEq)]
pub(in crate::server) enum Turn {
    /// The answer.
    Answer,
    /// A question: the result as it goes out.
    Ask(Value),
    /// The client lacks these capabilities.
    Lacks(Value),
    /// The leg answers nothing that was asked.
    Wrong,
}

/// What follows on this request.
pub(in crate::server) fn turn(options: &Options, rpc: &Rpc) -> Turn {
    let name = rpc.name.as_deref().unwrap_or_default();
    let asks = matches!(rpc.method.as_deref(), Some("tools/call" | "prompts/get" | "resources/read"));
    let asking = options.asks.get(name).filter(|_| asks);
    let rounds = asking.map(|asking| asking.rounds.as_slice()).unwrap_or_default();
    let next = if is_leg(rpc) {
        match rounds.iter().position(|round| answers(round, rpc.params())) {
            Some(at) => at + 1,
            None => return Turn::Wrong,
        }
    } else {
        0
    };
    let round = rounds.get(next).or_else(|| rounds.last().filter(|_| asking.is_some_and(|asking| asking.for_ever)));
    let Some(round) = round else { return Turn::Answer };
    let lacks = lacking(round, &rpc.meta(CLIENT_CAPABILITIES).unwrap_or_default());
    if !lacks.is_empty() && !asking.is_some_and(|asking| asking.undeclared) {
        return Turn::Lacks(Value::Object(lacks));
    }
    let mut result = json!({"resultType": "input_required"});
    if !round.requests.is_empty() {
        result["inputRequests"] = Value::Object(round.requests.clone());
    }
    if let Some(state) = &round.state {
        result["requestState"] = Value::from(state.as_str());
    }
    Turn::Ask(result)
}

/// Whether a request goes on with one that was asked about.
pub(crate) fn is_leg(rpc: &Rpc) -> bool {
    ["inputResponses", "requestState"].iter().any(|member| rpc.params().get(member).is_some())
}

fn answers(round: &Round, params: &Value) -> bool {
    let given = params["inputResponses"].as_object();
    let keys = |map: &Map<String, Value>| map.keys().cloned().collect::<std::collections::BTreeSet<_>>();
    // Where nothing was asked an empty object would do, and where no state was given none may come.
    given.map(keys).unwrap_or_default() == keys(&round.requests)
        && params.get("requestState").map(Value::as_str) == round.state.as_ref().map(|state| Some(state.as_str()))
}

fn lacking(round: &Round, declared: &Value) -> Map<String, Value> {
    let needs = round.requests.values().filter_map(|request| match request["method"].as_str()? {
        "elicitation/create" => Some("elicitation"),
        "sampling/createMessage" => Some("sampling"),
        "roots/list" => Some("roots"),
        _ => None,
    });
    needs.filter(|need| !declared[need].is_object()).map(|need| (need.to_owned(), json!({}))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(params: &Value) -> Turn {
        let mut options = Options::default();
        let asking = r#"{"rounds": [
            {"requests": {"who": {"method": "elicitation/create", "params": {}}}, "state": "one"},
            {"state": "two"},
            {"requests": {"where": {"method": "roots/list"}}}
        ]}"#;
        options.asks.insert("poke".to_owned(), serde_json::from_str(asking).unwrap_or_default());
        let mut params = params.clone();
        params["name"] = json!("poke");
        params["_meta"] = json!({CLIENT_CAPABILITIES: {"elicitation": {}, "roots": {}}});
        let body = json!({"method": "tools/call", "id": 1, "params": params});
        turn(&options, &Rpc::parse(body.to_string().as_bytes()).unwrap_or_default())
    }

    #[test]
    fn a_leg_is_known_by_what_it_carries() {
        let answer = json!({"who": {"action": "accept"}});
        let first = asked(&json!({}));
        assert!(matches!(&first, Turn::Ask(ask) if ask["requestState"] == "one"), "{first:?}");
        let second = asked(&json!({"inputResponses": answer, "requestState": "one"}));
        assert_eq!(second, Turn::Ask(json!({"resultType": "input_required", "requestState": "two"})));
        let third = asked(&json!({"requestState": "two"}));
        assert!(matches!(&third, Turn::Ask(ask) if ask.get("requestState").is_none()), "{third:?}");
        assert_eq!(asked(&json!({"inputResponses": {"where": {"roots": []}}})), Turn::Answer);
        for wrong in [
            json!({"inputResponses": answer, "requestState": "One"}),
            json!({"inputResponses": answer}),
            json!({"requestState": "one"}),
            json!({"inputResponses": {"where": {}}, "requestState": null}),
        ] {
            assert_eq!(asked(&wrong), Turn::Wrong, "{wrong}");
        }
    }

    #[test]
    fn what_the_client_did_not_declare_is_not_asked() {
        let round = Round {
            requests: [("a".to_owned(), json!({"method": "sampling/createMessage"}))].into_iter().collect(),
            state: None,
        };
        assert_eq!(Value::Object(lacking(&round, &json!({"roots": {}}))), json!({"sampling": {}}));
    }
}
