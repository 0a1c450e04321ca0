//! What becomes of silence: an idle connection, and an idle GET stream. Only where a person has the time (`--slow`).

use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Empty};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use oncewire::Lifecycle;
use oncewire::diagnose::Ask;

use super::catalog;
use super::events::blocks;
use super::examine::{Examination, Line, millis};
use super::facts;

/// Clients reuse connections that were idle for less.
const SHORT: Duration = Duration::from_secs(5);
/// Making the connection, and one answer on it.
const CONNECTION: Duration = Duration::from_secs(5);

pub(super) async fn examine(examination: &mut Examination<'_>, line: &Line) {
    let Some(wanted) = examination.plan.slow else { return };
    let Some(watch) = examination.up_to(wanted) else { return };
    examination.progress.at("idle");
    let held = match line {
        Line::Legacy(_) if line.lifecycle() == Lifecycle::Legacy => {
            examination.prober.open(line.dress(Ask::listen().patience(CONNECTION.min(watch)))).await.1
        }
        _ => None,
    };
    let mut seen = facts::Idle { watched_ms: millis(watch), ..facts::Idle::default() };
    let streaming = async {
        let mut held = held?;
        let chunks = held.read(watch, |_| false).await;
        Some((chunks, held.ended()))
    };
    let (closed, stream) = tokio::join!(connection(examination, watch), streaming);
    seen.connection_closed_after_ms = closed.map(millis);
    if let Some(closed) = closed.filter(|closed| *closed < SHORT) {
        examination.find(&catalog::CONNECTION_SHORT, format!("after {} ms", millis(closed)));
    }
    if let Some((chunks, ended)) = stream {
        let signs: Vec<Duration> = blocks(&chunks).iter().map(|block| block.at).collect();
        seen.keep_alive_ms =
            signs.windows(2).filter_map(|two| Some(millis(two.get(1)?.checked_sub(*two.first()?)?))).max();
        seen.stream_cut_after_ms = ended.map(millis);
        if let Some(ended) = ended {
            examination.find(&catalog::STREAM_CUT, format!("after {} ms", millis(ended)));
        } else if signs.len() < 2 {
            examination.find(&catalog::NO_KEEP_ALIVE, format!("{} s of silence", watch.as_secs()));
        }
    }
    examination.facts.idle = Some(seen);
}

/// How long an idle connection lives; none if it lives on. The request on it is OPTIONS, which means nothing to any server.
async fn connection(examination: &Examination<'_>, watch: Duration) -> Option<Duration> {
    let prober = &examination.prober;
    let ip = examination
        .facts
        .reach
        .as_ref()?
        .addresses
        .iter()
        .find(|address| address.failure.is_none())?
        .ip
        .parse()
        .ok()?;
    let connection = prober.connection(ip, true, CONNECTION).await.ok()?;
    let (mut sender, running) = http1::handshake(TokioIo::new(connection.stream)).await.ok()?;
    let running = tokio::spawn(running);
    let url = prober.url();
    let request = http::Request::builder()
        .method(http::Method::OPTIONS)
        .uri(url.path())
        .header(http::header::HOST, url.authority())
        .body(Empty::<bytes::Bytes>::new())
        .ok()?;
    let answering = async {
        let response = sender.send_request(request).await.ok()?;
        let closes = response
            .headers()
            .get(http::header::CONNECTION)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close"));
        response.into_body().collect().await.ok()?;
        Some(closes)
    };
    let closes = tokio::time::timeout(CONNECTION, answering).await.ok().flatten()?;
    let idle = Instant::now();
    let aborts = running.abort_handle();
    let ended = tokio::time::timeout(watch, running).await;
    aborts.abort();
    drop(sender);
    match ended {
        Ok(_) if closes => Some(Duration::ZERO),
        Ok(_) => Some(idle.elapsed()),
        Err(_) => None,
    }
}
