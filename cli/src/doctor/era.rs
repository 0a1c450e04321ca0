//! Which era a server speaks, which versions, and what a version gets that does not exist.

use oncewire::Era;
use oncewire::diagnose::{Ask, Told};
use oncewire::transport::classify::{EraVerdict, HandshakeNext};
use serde_json::{Value, json};

use super::answer::{said, short};
use super::catalog;
use super::examine::{Examination, Line, OpenSession};
use super::facts;

pub(super) const MODERN: &str = "2026-07-28";
pub(super) const LEGACY: &str = "2025-11-25";
/// A version that does not exist, and sorts after all that do.
const UNKNOWN: &str = "2199-12-31";

/// Finds out how the server is spoken to, and opens a session if it needs one. None if it is not to be spoken to.
pub(super) async fn examine(examination: &mut Examination<'_>) -> Option<Line> {
    examination.progress.at("era");
    let mut seen = facts::Era::default();
    let modern = match examination.plan.era {
        Era::Legacy => false,
        _ => discover(examination, &mut seen).await?,
    };
    let line = if modern {
        unknown_version(examination, &mut seen).await;
        seen.version = Some(MODERN.to_owned());
        Some(Line::Modern(MODERN.to_owned()))
    } else {
        handshake(examination, &mut seen).await.map(Line::Legacy)
    };
    seen.speaks = line.as_ref().map(|line| line.lifecycle().as_str());
    examination.facts.era = Some(seen);
    line
}

/// Does it speak the modern era?
async fn discover(examination: &mut Examination<'_>, seen: &mut facts::Era) -> Option<bool> {
    let told = examination.ask(Ask::request("server/discover", Value::Null).modern(MODERN)).await?;
    seen.discover = Some(short(&told));
    match told.era {
        Some(EraVerdict::Discovered) => {
            if let Some(result) = &told.result {
                seen.versions = texts(&result["supportedVersions"]);
                introduce(seen, result);
            }
            Some(seen.versions.iter().any(|version| version == MODERN))
        }
        Some(EraVerdict::OtherVersions) => {
            seen.versions = supported(&told);
            Some(false)
        }
        Some(EraVerdict::None(_)) => {
            if told.timed_out {
                examination.find(&catalog::PROBE_SILENT, said(&told));
            } else {
                examination.find(&catalog::PROBE_TROUBLE, said(&told));
            }
            Some(false)
        }
        _ => Some(false),
    }
}

/// What a version of the modern era gets that does not exist.
async fn unknown_version(examination: &mut Examination<'_>, seen: &mut facts::Era) {
    let Some(told) = examination.ask(Ask::request("server/discover", Value::Null).modern(UNKNOWN)).await else {
        return;
    };
    seen.unknown_version = Some(short(&told));
    if told.result.is_some() {
        examination.find(&catalog::VERSION_UNCHECKED, format!("server/discover under {UNKNOWN} is answered"));
    } else if supported(&told).is_empty() {
        examination.find(&catalog::VERSION_UNLISTED, said(&told));
    }
}

/// The one session of the examination. It is asked for in the hardest way first: with the id of a session that is gone and a version that
/// does not exist, both of which a server is to bear. Each try follows only on one that opened nothing.
async fn handshake(examination: &mut Examination<'_>, seen: &mut facts::Era) -> Option<OpenSession> {
    let stale = uuid::Uuid::new_v4().to_string();
    let first = initialize(examination, Some(&stale), UNKNOWN).await?;
    let mut session = facts::Session { stale_initialize: Some(short(&first)), ..facts::Session::default() };
    let mut told = first;
    let given_nothing = |told: &Told| told.session.is_none() || told.session.as_deref() == Some(&*stale);
    let mut stale_refused = told.result.is_none();
    if stale_refused || given_nothing(&told) {
        let refused = told;
        told = initialize(examination, None, UNKNOWN).await?;
        if told.result.is_none() {
            seen.unknown_version = Some(short(&told));
            let of_version = told;
            told = initialize(examination, None, LEGACY).await?;
            if told.result.is_some() {
                // Both were refused alike: it may have been the version that the first was refused for.
                stale_refused = false;
                session.stale_initialize = None;
                examination.find(&catalog::VERSION_REFUSED, said(&of_version));
            } else {
                failed(examination, &told);
                examination.facts.session = Some(session);
                return None;
            }
        }
        if stale_refused {
            examination.find(&catalog::STALE_INITIALIZE, said(&refused));
        }
    }
    let result = told.result.clone()?;
    let version = result["protocolVersion"].as_str().unwrap_or(LEGACY).to_owned();
    if seen.unknown_version.is_none() {
        if version == UNKNOWN {
            examination.find(&catalog::VERSION_UNCHECKED, format!("initialize agrees to {UNKNOWN}"));
        }
        seen.unknown_version = Some(short(&told));
        seen.offered_instead = Some(version.clone());
    }
    introduce(seen, &result);
    let version = if version == UNKNOWN { LEGACY.to_owned() } else { version };
    seen.version = Some(version.clone());
    let raw_id = told.headers.get("mcp-session-id");
    if told.session.is_none() && raw_id.is_some() {
        examination.find(&catalog::ID_UNUSABLE, "the header Mcp-Session-Id of the answer to initialize");
    }
    session.given = told.session.is_some();
    session.id_length = told.session.as_ref().map(|id| id.chars().count());
    examination.facts.session = Some(session);
    let open = OpenSession { id: told.session.clone(), version };
    examination.opened(&open);
    let initialized = Ask::notification("notifications/initialized").session(open.id.as_deref());
    let told = examination.ask(initialized.version(Some(&open.version))).await?;
    if told.handshake.is_none_or(|conclusion| conclusion.next != HandshakeNext::Proceed) {
        examination.find(&catalog::INITIALIZED_REFUSED, said(&told));
    }
    Some(open)
}

async fn initialize(examination: &mut Examination<'_>, session: Option<&str>, version: &str) -> Option<Told> {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "oncewire", "version": env!("CARGO_PKG_VERSION") },
    });
    examination.ask(Ask::request("initialize", params).session(session)).await
}

/// Another session beside the first (`--intrusive`); none if it was refused.
pub(super) async fn second(examination: &mut Examination<'_>, version: &str) -> Option<OpenSession> {
    let told = initialize(examination, None, version).await?;
    told.result.as_ref()?;
    let open = OpenSession { id: told.session.clone(), version: version.to_owned() };
    examination.opened(&open);
    let initialized = Ask::notification("notifications/initialized").session(open.id.as_deref());
    examination.ask(initialized.version(Some(version))).await?;
    Some(open)
}

fn failed(examination: &mut Examination<'_>, told: &Told) {
    let nothing_there = matches!(told.status, Some(404 | 405)) && told.error.is_none();
    let page = told.is_success() && told.error.is_none();
    let check = if nothing_there || page { &catalog::NOT_MCP } else { &catalog::HANDSHAKE_FAILED };
    examination.find(check, said(told));
}

/// What it says of itself.
pub(super) fn introduce(seen: &mut facts::Era, result: &Value) {
    if let Some(capabilities) = result["capabilities"].as_object() {
        seen.capabilities = capabilities.keys().cloned().collect();
    }
    let info = match &result["serverInfo"] {
        Value::Null => &result["_meta"]["io.modelcontextprotocol/serverInfo"],
        info => info,
    };
    seen.server_name = info["name"].as_str().map(super::answer::one_line);
    seen.server_version = info["version"].as_str().map(super::answer::one_line);
}

/// The versions that a refusal lists.
fn supported(told: &Told) -> Vec<String> {
    told.error.as_ref().and_then(|error| error.data.as_ref()).map(|data| texts(&data["supported"])).unwrap_or_default()
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(super::answer::one_line).collect()
}
