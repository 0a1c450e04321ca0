//! The invariants on handshakes, sessions, notifications and events.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use oncewire::transport::scripted::{Entry, Over};
use oncewire::{Error, EventName, Kind};
use serde_json::Value;
use tokio::time::Instant;

use crate::check::{Judge, TICK, is_modern};
use crate::run::End;
use crate::script::{CallPlan, Era, Happening, Recovery, What};
use crate::server::mark;

/// How long a twin or a verification may wait for its answer.
const PING: Duration = Duration::from_secs(5);

impl Judge<'_> {
    /// Events tell the story in order: ready only after a handshake, generations one by one, a loss once, `closed` last.
    pub(crate) fn events(&mut self) {
        let (mut flying, mut ready, mut lost, mut closed) = (false, 0, 0, false);
        let mut wrong = Vec::new();
        for (event, generation) in &self.course.events {
            let generation = generation.unwrap_or_default();
            let right = match event {
                EventName::Connecting | EventName::Recovering => !std::mem::replace(&mut flying, true),
                EventName::ConnectFailed | EventName::RecoveryFailed => std::mem::take(&mut flying),
                EventName::Ready => {
                    let in_order = std::mem::take(&mut flying) && generation == ready + 1;
                    ready = generation;
                    in_order
                }
                EventName::SessionLost => {
                    let first = generation == ready && lost < generation && !flying;
                    lost = generation;
                    first
                }
                EventName::Closed => !std::mem::replace(&mut closed, true),
                _ => !closed,
            };
            if !right || (closed && *event != EventName::Closed) {
                wrong.push(format!("the event {event} of generation {generation} is out of order"));
            }
        }
        // Each call that began before the client closed has its `call_finished`; one on a closed client is no event.
        let finished = self.course.events.iter().filter(|(event, _)| *event == EventName::CallFinished).count();
        let close = self.close();
        let began = |plan: &&CallPlan| self.course.began + Duration::from_millis(plan.at_ms) < close;
        let surely = self.script.calls.iter().filter(began).count() + self.course.probes;
        let most = self.script.calls.len() + self.course.probes;
        if !(surely..=most).contains(&finished) {
            wrong.push(format!("{finished} call_finished for {surely} calls"));
        }
        self.wrong.extend(wrong);
    }

    /// When the client began to close.
    fn close(&self) -> Instant {
        let closes = self.script.happenings.iter().filter(|happening| happening.what == What::Close);
        let first = closes.map(|happening| self.course.began + Duration::from_millis(happening.at_ms)).min();
        first.unwrap_or(self.course.closed_at)
    }

    /// At most one handshake at a time; nothing goes out on a session before its handshake is done.
    pub(crate) fn handshakes(&mut self) {
        let mut ready: HashSet<Option<&str>> = HashSet::new();
        let mut discovered = false;
        let mut wrong = Vec::new();
        for (index, entry) in self.course.entries.iter().enumerate() {
            match entry.method() {
                "initialize" => {
                    let before = &self.course.entries[..index];
                    let open = before
                        .iter()
                        .filter(|other| matches!(other.method(), "initialize" | "notifications/initialized"))
                        .filter(|other| other.over.is_none_or(|(at, _)| at > entry.at));
                    if open.count() > 0 {
                        wrong.push("two handshakes at once".to_owned());
                    }
                    if entry.session().is_some() || entry.header("mcp-protocol-version").is_some() {
                        wrong.push("initialize bears a session or a version".to_owned());
                    }
                }
                "notifications/initialized" => {
                    if entry.status.is_some_and(|status| status.is_success()) {
                        ready.insert(entry.session());
                    }
                }
                "DELETE" => {}
                "server/discover" => discovered |= entry.status.is_some_and(|status| status.is_success()),
                method => {
                    if !(if is_modern(entry) { discovered } else { ready.contains(&entry.session()) }) {
                        wrong.push(format!("{method} was sent before the handshake was done"));
                    }
                }
            }
        }
        self.wrong.extend(wrong);
    }

    /// Every session that the client was given gets one DELETE, unless the server declared it gone.
    pub(crate) fn sessions(&mut self) {
        let mut deletes: HashMap<&str, usize> = HashMap::new();
        for entry in self.of("DELETE") {
            *deletes.entry(entry.session().unwrap_or_default()).or_default() += 1;
        }
        // What the server says of a session to a call and to a ping alike is a declaration. What one call alone is told is none.
        let known = &self.course.known;
        let told = |session: &str| known.told_gone.values().filter(|of| *of == session).count();
        let words_say_so = !self.script.may_cost_a_call();
        let over = |index: &usize| self.course.entries[*index].over;
        let declared = |session: &str| {
            let read = |index: &&usize| {
                let entry = &self.course.entries[**index];
                entry.session() == Some(session) && matches!(entry.over, Some((_, Over::Ended)))
            };
            let is_ping = |index: &usize| self.course.entries[*index].method() == "ping";
            // A refusal that took much longer than its twin is none of everything.
            let at_once = |index: &&usize| {
                let entry = &self.course.entries[**index];
                entry.over.is_some_and(|(at, _)| at < entry.at + TICK)
            };
            // The second question of a twin is no call, nor is the look for hints: no call of the script is in their params.
            let is_call = |index: &&usize| {
                mark(self.course.entries[**index].message.get("params").unwrap_or(&Value::Null)).is_some()
            };
            let calls = known.disowned.iter().filter(read).filter(at_once);
            let first_call = calls.filter(is_call).min();
            let pings = known.disowned.iter().filter(read).filter(|index| is_ping(index));
            let first = pings
                .filter(|index| first_call.is_some_and(|call| call < *index))
                .filter_map(over)
                .map(|(at, _)| at)
                .min();
            // One that shows life afterwards is none that was lost.
            let lives = |since: Instant| {
                let of_it = self.course.entries.iter().filter(|entry| entry.session() == Some(session));
                let mut well = of_it.filter(|entry| entry.status.is_some_and(|status| status.is_success()));
                well.any(|entry| entry.method() != "DELETE" && entry.over.is_some_and(|(at, _)| at >= since))
            };
            // A twin whose second question is answered otherwise has heard the server contradict itself: that declares nothing.
            let contradicts = |since: Instant| {
                let of_it =
                    self.course.entries.iter().enumerate().filter(|(_, entry)| entry.session() == Some(session));
                let mut asked = of_it.filter(|(index, entry)| entry.method() == "tools/list" && !is_call(&index));
                asked.any(|(index, entry)| {
                    !known.disowned.contains(&index) && entry.over.is_some_and(|(at, _)| at >= since)
                })
            };
            // Who replaces it by hand, closes, or gives up a call, need not have waited for what it says of itself.
            let by_hand = |happening: &Happening| matches!(happening.what, What::Recover | What::Close);
            let interrupted =
                |plan: &CallPlan| plan.cancel_ms.is_some() || plan.timeout_ms.is_some() || plan.idle_ms.is_some();
            let script = self.script;
            let auto = script.client.recovery == Recovery::Auto
                && !script.happenings.iter().any(by_hand)
                && !script.calls.iter().any(interrupted);
            words_say_so && auto && first.is_some_and(|since| !lives(since) && !contradicts(since))
        };
        let given = self.given();
        for session in &self.course.sessions {
            let id = session.id.as_str();
            let count = deletes.remove(id).unwrap_or_default();
            let times = told(id);
            let right = match (given.contains(id), times, declared(id)) {
                (false, ..) | (true, _, true) => count == 0,
                (true, 0, false) => count == 1,
                (true, ..) => count <= 1,
            };
            if !right {
                self.wrong.push(format!("{id}, told {times} times that it is gone, got {count} DELETE"));
            }
        }
        if !deletes.is_empty() {
            self.wrong.push(format!("DELETE of what was never given: {deletes:?}"));
        }
    }

    /// The sessions whose id reached the client.
    fn given(&self) -> HashSet<String> {
        // The nth session of the server is the nth `initialize` that it answered with one: the answer has to have been read.
        let mut given = HashSet::new();
        let mut sessions = self.course.sessions.iter();
        for (index, entry) in self.course.entries.iter().enumerate() {
            if entry.method() != "initialize" || !self.course.known.gave.contains(&index) {
                continue;
            }
            let Some(session) = sessions.next() else { break };
            if matches!(entry.over, Some((_, Over::Ended | Over::Dropped { drained: true }))) {
                given.insert(session.id.clone());
            }
        }
        given
    }

    /// A request that nobody waits for any more is cancelled once, unless its session is gone; nothing else is.
    pub(crate) fn notifications(&mut self) {
        let mut cancelled: HashMap<u64, usize> = HashMap::new();
        for entry in self.of("notifications/cancelled") {
            let id = entry.message.pointer("/params/requestId").and_then(Value::as_u64).unwrap_or_default();
            *cancelled.entry(id).or_default() += 1;
        }
        // Of the hops of a redirect the one that the server took counts: they bear one id.
        let mut by_id: HashMap<u64, &Entry> = HashMap::new();
        for entry in &self.course.entries {
            let Some(id) = entry.id() else { continue };
            if !by_id.get(&id).is_some_and(|earlier| earlier.taken) {
                by_id.insert(id, entry);
            }
        }
        for (id, count) in &cancelled {
            match by_id.get(id) {
                Some(entry) if entry.method() != "initialize" && entry.taken && *count == 1 => {}
                other => {
                    let method = other.map(|entry| entry.method());
                    self.wrong.push(format!("{count} notifications/cancelled for request {id} ({method:?})"));
                }
            }
        }
        let close = self.close();
        let told: HashSet<&str> = self.course.known.told_gone.values().map(String::as_str).collect();
        let mut wrong = Vec::new();
        for number in 0..self.script.calls.len() {
            let (ended, end) = self.end(number);
            let interrupted = match end {
                End::Cancelled => true,
                End::Error(Error::MayHaveExecuted(failure)) => failure.kind == Kind::Timeout,
                _ => false,
            };
            if !interrupted || ended >= close {
                continue;
            }
            for (_, entry) in self.entries_of(number) {
                if is_modern(entry) {
                    // The end of its stream tells it.
                    continue;
                }
                let open = matches!(entry.over, Some((at, Over::Dropped { .. })) if at == ended) && entry.taken;
                let gone = told.contains(entry.session().unwrap_or_default());
                let id = entry.id().unwrap_or_default();
                if open && !gone && !cancelled.contains_key(&id) {
                    wrong.push(format!("nobody told the server that call {number} was cancelled"));
                }
            }
        }
        self.wrong.extend(wrong);
    }

    /// A twin is sent for a refusal, and one for each at most; a verification for a doubt. Neither outlives its bound, and a modern server
    /// never sees a `ping`.
    pub(crate) fn twins(&mut self) {
        let mut wrong = Vec::new();
        let pings = self.of("ping");
        if pings.iter().any(|ping| is_modern(ping)) {
            wrong.push("a ping in the modern era".to_owned());
        }
        let bound = PING + TICK;
        let (began, ended) =
            (|ping: &Entry| ping.at, |ping: &Entry| ping.over.map_or(self.course.closed_at, |(at, _)| at));
        if let Some(ping) = pings.iter().find(|ping| ended(ping) > began(ping) + bound) {
            wrong.push(format!("a ping took {:?}", ended(ping) - began(ping)));
        }
        let doubts = self.course.events.iter().filter(|(event, _)| *event == EventName::SessionSuspect).count();
        let most = self.course.known.refused.len() + doubts;
        if pings.len() > most {
            wrong.push(format!("{} pings for {most} refusals and doubts", pings.len()));
        }
        self.wrong.extend(wrong);
    }

    /// In the modern era there are requests by POST, and nothing else: no stream to read on, no session to end, no notification, no reply.
    pub(crate) fn modern(&mut self) {
        let mut wrong = Vec::new();
        let speaks_modern = self.script.client.era == Era::Modern;
        for entry in &self.course.entries {
            let method = entry.method();
            let told = entry.id().is_none() || method.is_empty() || entry.message.get("method").is_none();
            let other = told || entry.session().is_some() || method == "initialize";
            if (is_modern(entry) || speaks_modern) && other {
                wrong.push(format!("{method} in the modern era"));
            }
        }
        self.wrong.extend(wrong);
    }
}
