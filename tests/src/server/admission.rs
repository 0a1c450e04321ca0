//! What the healthy server refuses before it does anything.

use serde_json::Value;

use super::action::{BodyFraming, Respond};
use super::catalog::{VERSIONS, error};
use super::era::{Era, Lifecycle};
use super::modern;
use super::request::{Request, Rpc};
use super::script::{Facts, Options, Refusal};
use super::state::State;
use crate::authorization;

/// The refusal of this request, if it is to be refused.
pub(crate) fn refuse(
    state: &State,
    options: &Options,
    request: &Request,
    rpc: Option<&Rpc>,
    facts: &Facts,
) -> Option<Respond> {
    if !options.paths.contains(&request.path) {
        return Some(text(404, "Not Found"));
    }
    if let Some(protected) = &options.protected {
        // A name that no server has protects from everybody.
        let authority = state.authority_named(&protected.by).unwrap_or_default();
        if let Some(refusal) = authorization::refuse(protected, &authority, request, rpc, &state.url) {
            return Some(refusal);
        }
    } else if let Some(tokens) = &options.tokens
        && !facts.token.as_ref().is_some_and(|token| tokens.contains(token))
    {
        return Some(unauthorized(true));
    }
    match (options.era, facts.lifecycle) {
        (Era::Modern | Era::Dual, Lifecycle::Modern) => modern::refuse(options, request, rpc)?.answer,
        (Era::Modern, Lifecycle::Legacy) => modern::refuse_legacy(options, request, rpc),
        (Era::Legacy | Era::Dual, _) => refuse_legacy(state, options, request, rpc, facts),
    }
}

fn refuse_legacy(
    state: &State,
    options: &Options,
    request: &Request,
    rpc: Option<&Rpc>,
    facts: &Facts,
) -> Option<Respond> {
    match request.method.as_str() {
        "POST" if rpc.is_none() => {
            return Some(refusal(&Refusal::Json, 400, -32700, "Parse error", None));
        }
        "POST" | "DELETE" => {}
        "GET" if options.get == super::script::GetStream::NotAllowed => {
            let mut answer = text(405, "Method Not Allowed");
            answer.headers.insert("Allow".to_owned(), "POST, DELETE".to_owned());
            return Some(answer);
        }
        "GET" => {}
        _ => return Some(text(405, "Method Not Allowed")),
    }
    let id = rpc.and_then(|rpc| rpc.id.as_ref());
    let initialize = facts.rpc.as_deref() == Some("initialize");
    match &facts.session {
        _ if !options.sessions => {}
        None if initialize => return None,
        None => {
            let wording = "Bad Request: Mcp-Session-Id header is required";
            return Some(refusal(&options.missing_session, 400, -32000, wording, id));
        }
        Some(_) if !facts.session_known => {
            return Some(refusal(&options.unknown_session, 404, -32001, "Session not found", id));
        }
        Some(_) if initialize => {
            return Some(refusal(&Refusal::Json, 400, -32600, "Invalid Request: already initialized", id));
        }
        Some(session) => {
            let handshake = matches!(facts.rpc.as_deref(), Some("notifications/initialized" | "ping"));
            let lifecycle = handshake || request.method == "DELETE" || facts.response;
            if options.strict && !lifecycle && !state.is_initialized(session) {
                state.too_early();
                let wording = "Received request before initialization was complete";
                return Some(refusal(&Refusal::OurId, 400, -32602, wording, id));
            }
        }
    }
    if let Some(version) = request.header("mcp-protocol-version")
        && !VERSIONS.contains(&version)
    {
        let wording = format!("Bad Request: Unsupported protocol version: {version}");
        return Some(refusal(&Refusal::Json, 400, -32000, &wording, id));
    }
    None
}

/// 401.
pub(crate) fn unauthorized(challenge: bool) -> Respond {
    let mut answer = text(401, "Unauthorized");
    if challenge {
        let field = "Bearer error=\"invalid_token\", error_description=\"The access token expired\"";
        answer.headers.insert("WWW-Authenticate".to_owned(), field.to_owned());
    }
    answer
}

fn text(status: u16, body: &str) -> Respond {
    let mut answer = Respond { status, text: Some(body.to_owned()), ..Respond::default() };
    answer.headers.insert("Content-Type".to_owned(), "text/plain".to_owned());
    answer
}

fn refusal(shape: &Refusal, status: u16, code: i64, wording: &str, id: Option<&Value>) -> Respond {
    let json = |id: Value, code| Respond { status, json: Some(error(&id, code, wording)), ..Respond::default() };
    match shape {
        Refusal::Json => json(Value::Null, code),
        Refusal::ServerError => json(Value::from("server-error"), -32600),
        Refusal::OurId => json(id.cloned().unwrap_or_default(), code),
        Refusal::Text => text(status, wording),
        Refusal::Empty => Respond { status, framing: BodyFraming::Length, ..Respond::default() },
        Refusal::Custom { status, body } => match serde_json::from_str(body) {
            Ok(json) => Respond { status: *status, json: Some(json), ..Respond::default() },
            Err(_) => text(*status, body),
        },
    }
}
