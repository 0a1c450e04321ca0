//! The hints of a tool that nobody has listed yet in this generation: looked up at the moment that they are needed. One attempt for each
//! page, no patience, no recovery, two seconds in all; no answer means no hints.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::engine::Engine;
use crate::exchange::answer::{Answer, Position};
use crate::exchange::post::{ExchangeEnd, Post};
use crate::exchange::request::Request;
use crate::protocol::results::{Listed, Page, Tool};
use crate::rpc::params::Params;
use crate::session::Session;
use crate::transport::classify::{self, Class};
use crate::transport::probe::Probe;
use crate::vocabulary::method::Method;

/// How long a look-up may take, the wait for its session included.
pub(super) const LOOK_UP_PATIENCE: Duration = Duration::from_secs(2);

/// In the modern era a call of a tool may need headers that only the tool's schema tells: asks for it once in a generation, all callers
/// together, for [`LOOK_UP_PATIENCE`] at most. No answer means no headers, and is not asked for again.
pub(super) async fn have_looked_up(engine: &Engine, session: &Arc<Session>) {
    let generation = session.generation;
    if !engine.tools.is_unasked(generation) {
        return;
    }
    let _asking = engine.tools.asking().await;
    if engine.tools.is_unasked(generation) {
        let epoch = engine.tools.epoch();
        let asking = async {
            // The call would get over a refused token, and go out without its headers.
            if let Err(Some(refused)) = list_and_record(engine, session).await
                && let Ok(Some(_)) = engine.wire.tokens.refresh(refused).await
            {
                look_up(engine, session).await;
            }
        };
        // The caller may be gone before it is over: then the next one asks.
        let _ = timeout(LOOK_UP_PATIENCE, asking).await;
        engine.tools.asked(generation, epoch);
    }
}

/// Lists the tools on this session and records their hints. The caller holds it to [`LOOK_UP_PATIENCE`].
pub(crate) async fn look_up(engine: &Engine, session: &Arc<Session>) {
    // No answer means no hints.
    let _ = list_and_record(engine, session).await;
}

/// If the server refused the token, the error is its serial.
async fn list_and_record(engine: &Engine, session: &Arc<Session>) -> Result<(), Option<u64>> {
    let epoch = engine.tools.epoch();
    let tools = list(engine, session).await?;
    engine.tools.record(session.generation, epoch, tools.iter().map(|tool| &**tool));
    Ok(())
}

async fn list(engine: &Engine, session: &Arc<Session>) -> Result<Vec<Box<RawValue>>, Option<u64>> {
    let mut tools = Vec::new();
    let mut params = Params::none();
    for _ in 0..engine.settings.max_pages {
        let inbox = engine.router.own(Some(session));
        let attempt = Post::of_client(&engine.wire, &inbox, engine.settings.limits, Some(&**session));
        let request = Request::new(Method::LIST_TOOLS.as_str(), params);
        let probe = Probe::new();
        let mut position = Position::default();
        let (ended, sent) = attempt.run_as(request, None, probe.clone(), &mut position).await;
        let (ExchangeEnd::Head { answer: Answer::Result(raw), .. }
        | ExchangeEnd::Message { answer: Answer::Result(raw) }) = ended
        else {
            let (end, sent) = (ended.end(&position).ok_or(None)?, sent.ok_or(None)?);
            let evidence = sent.evidence(&engine.wire, &**session, probe.body_taken(), false, end);
            return Err(sent.token.filter(|_| classify::call(&evidence).class == Class::Unauthorized));
        };
        let page = Page::of(&raw, Tool::MEMBER);
        tools.extend(page.items);
        match page.next_cursor {
            Some(cursor) => params = Params::from_value("params", &json!({ "cursor": cursor })).map_err(|_| None)?,
            None => return Ok(tools),
        }
    }
    Err(None)
}
