//! The invariants on handshakes, sessions, notifications and events.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use oncewire::transport::scripted::{Entry, Over};
use oncewire::{Error, EventName, Kind};
use serde_json::Value;
use tokio::time::Instant;

use crate::check::{Judge, is_modern};
use crate::run::End;
use crate::script::{CallPlan, Era, What};
use crate::server::mark;

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
        // What a look-up of hints is told is not followed up.
        let told = |strict: bool| -> HashSet<&str> {
            let heard = |index: &usize| {
                let entry = &self.course.entries[*index];
                let is_call =
                    entry.method() == "ping" || mark(entry.message.get("params").unwrap_or(&Value::Null)).is_some();
                let read = matches!(entry.over, Some((_, Over::Ended | Over::Dropped { drained: true })));
                !strict || (is_call && read)
            };
            let told = self.course.known.told_gone.iter().filter(|(index, _)| heard(index));
            told.map(|(_, session)| session.as_str()).collect()
        };
        let (surely_told, maybe_told) = (told(true), told(false));
        let given = self.given();
        for session in &self.course.sessions {
            let id = session.id.as_str();
            let count = deletes.remove(id).unwrap_or_default();
            let right = match (given.contains(id), surely_told.contains(id), maybe_told.contains(id)) {
                (false, ..) | (_, true, _) => count == 0,
                (true, false, true) => count <= 1,
                (true, false, false) => count == 1,
            };
            if !right {
                let told = if surely_told.contains(id) { ", declared gone" } else { "" };
                self.wrong.push(format!("{id}{told} got {count} DELETE"));
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
        let by_id: HashMap<u64, &Entry> =
            self.course.entries.iter().filter_map(|entry| Some((entry.id()?, entry))).collect();
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
                let gone = entry.session().is_some_and(|session| told.contains(session));
                let id = entry.id().unwrap_or_default();
                if open && !gone && !cancelled.contains_key(&id) {
                    wrong.push(format!("nobody told the server that call {number} was cancelled"));
                }
            }
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
