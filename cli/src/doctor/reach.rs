//! The way to a server: its name, its addresses, TLS, who stands on the way, and where its URL leads.

use std::time::Duration;

use http::Version;
use oncewire::diagnose::{Ask, Told};
use oncewire::transport::classify::{Redirect, redirect};
use serde_json::Value;

use super::answer::{header, one_line};
use super::catalog;
use super::certificate::days_left;
use super::examine::{Examination, millis};
use super::facts;

/// One connection.
const CONNECTION: Duration = Duration::from_secs(5);
/// A certificate that ends sooner is worth a word.
const DAYS: i64 = 21;
/// Headers by which those on the way make themselves known.
const ON_THE_WAY: [&str; 6] =
    ["via", "x-served-by", "cf-ray", "x-amz-cf-id", "x-envoy-upstream-service-time", "x-cache"];

/// Goes to the server. False if nobody is there.
pub(super) async fn examine(examination: &mut Examination<'_>) -> bool {
    examination.progress.at("reach");
    let Some(patience) = examination.up_to(CONNECTION) else { return false };
    let way = examination.prober.reach(patience).await;
    let mut seen = facts::Reach { proxy: way.proxy.clone(), ..facts::Reach::default() };
    if way.proxy.is_some() {
        examination.find(&catalog::THROUGH_PROXY, format!("through {}", way.proxy.unwrap_or_default()));
        examination.facts.reach = Some(seen);
        return true;
    }
    seen.lookup_ms = Some(millis(way.lookup));
    for address in &way.addresses {
        seen.addresses.push(facts::Address {
            ip: address.ip.to_string(),
            family: if address.ip.is_ipv4() { 4 } else { 6 },
            connect_ms: address.connected.as_ref().ok().map(|took| millis(*took)),
            failure: address.connected.as_ref().err().map(|why| one_line(why)),
        });
    }
    if let Some(failure) = &way.failure {
        examination.find(&catalog::UNKNOWN_HOST, one_line(failure));
    }
    let failed: Vec<_> = seen.addresses.iter().filter(|address| address.failure.is_some()).collect();
    let described =
        |address: &facts::Address| format!("{}: {}", address.ip, address.failure.as_deref().unwrap_or("connected"));
    let none = way.failure.is_some() || failed.len() == seen.addresses.len();
    if none && way.failure.is_none() {
        let all: Vec<_> = failed.iter().map(|address| described(address)).collect();
        examination.find(&catalog::UNREACHABLE, all.join("; "));
    } else {
        // On a machine that has no IPv6 at all every such address is dead, and so is one of a loopback name that is served on the other.
        let loopback = way.addresses.iter().any(|address| address.ip.is_loopback());
        for address in failed.iter().filter(|_| !loopback) {
            examination.find(&catalog::ADDRESS_DEAD, described(address));
        }
    }
    let tls = way.addresses.iter().find_map(|address| address.tls.as_ref());
    let mut spoken = !none;
    match tls {
        Some(Ok(tls)) => {
            let left = tls.certificates.first().and_then(|der| days_left(der));
            if let Some(left) = left.filter(|left| *left < DAYS) {
                examination.find(&catalog::CERTIFICATE_ENDS, format!("in {left} days"));
            }
            seen.tls = Some(facts::Tls {
                version: tls.version.clone(),
                alpn: tls.alpn.clone(),
                certificate_days_left: left,
                handshake_ms: millis(tls.took),
            });
        }
        Some(Err(why)) => {
            examination.find(&catalog::TLS_FAILED, one_line(why));
            spoken = false;
        }
        None => {}
    }
    let private = way.addresses.iter().all(|address| address.ip.is_loopback());
    if !way.encrypted && !private && !none {
        examination.find(&catalog::CLEARTEXT, "the URL is http");
    }
    examination.facts.reach = Some(seen);
    spoken && redirects(examination).await
}

/// Where the URL leads, and who answers there. False if it leads away.
async fn redirects(examination: &mut Examination<'_>) -> bool {
    let ask = Ask::request("ping", Value::Null).version(Some("2025-11-25")).raw();
    let Some(told) = examination.ask(ask).await else { return false };
    note(examination, &told);
    let Some(status) = told.status else {
        let why = told.failure.clone().unwrap_or_else(|| "nothing came".to_owned());
        // Some servers never answer what comes without a session: what follows shows whether this one answers at all.
        if !told.timed_out {
            examination.find(&catalog::UNREACHABLE, why);
            return false;
        }
        return true;
    };
    let url = examination.prober.url().clone();
    let Ok(code) = http::StatusCode::from_u16(status) else { return true };
    let (to, followed) = match redirect(code, &told.headers, &url) {
        Redirect::None => return true,
        Redirect::Follow(to) => (to, true),
        Redirect::Refuse(to) => (to, false),
    };
    let to = examination.prober.redacted(&format!("{}{}", to.origin().ascii_serialization(), to.path()));
    let check = if followed { &catalog::REDIRECT_FOLLOWED } else { &catalog::REDIRECTS };
    examination.find(check, format!("HTTP {status} leads to {to}"));
    if let Some(reach) = &mut examination.facts.reach {
        reach.redirect = Some(facts::Redirect { status, to, followed });
    }
    followed
}

/// What the head of an answer says of the way.
fn note(examination: &mut Examination<'_>, told: &Told) {
    let clean = |value: &str| examination.prober.redacted(&one_line(value));
    let server = header(told, "server").map(clean);
    let via = ON_THE_WAY
        .iter()
        .filter_map(|name| header(told, name).map(|value| format!("{name}: {}", clean(value))))
        .collect();
    let Some(reach) = &mut examination.facts.reach else { return };
    reach.http = told.http.map(|version| match version {
        Version::HTTP_2 => "2".to_owned(),
        Version::HTTP_11 => "1.1".to_owned(),
        other => format!("{other:?}"),
    });
    (reach.server, reach.via) = (server, via);
}
