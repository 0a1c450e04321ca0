//! What happened in one run, for the scenario to check. Its own locks are the standard library's: they are not part of what is tried.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use shuttle::current::{TaskId, me};
use tokio_util::sync::CancellationToken;

use crate::vocabulary::event::{Event, EventName};

#[derive(Debug, Default)]
pub(crate) struct Record {
    /// How many handshakes run now, and the most that ever ran at once.
    flying: AtomicUsize,
    most_flying: AtomicUsize,
    events: Mutex<Vec<Event>>,
    /// Which task started the flights, in order.
    starters: Mutex<Vec<TaskId>>,
    /// The tasks that looked at the sessions, and how often they came by here.
    looked: Mutex<HashMap<TaskId, usize>>,
    began: AtomicUsize,
    ended: AtomicUsize,
    /// Cancelled when that many tasks have looked.
    all_looked: Option<(usize, CancellationToken)>,
}

impl Record {
    pub(crate) fn telling_when_looked(count: usize, all_looked: &CancellationToken) -> Self {
        Self { all_looked: Some((count, all_looked.clone())), ..Self::default() }
    }

    /// Called in the step that the event tells of.
    pub(crate) fn push(&self, event: Event) {
        if matches!(event.event, EventName::Connecting | EventName::Recovering) {
            locked(&self.starters).push(me());
        }
        locked(&self.events).push(event);
    }

    /// Called by whoever has looked at the sessions, outside of their locks.
    pub(crate) fn deliver(&self) {
        let looked = {
            let mut looked = locked(&self.looked);
            *looked.entry(me()).or_default() += 1;
            looked.len()
        };
        if let Some((count, all_looked)) = &self.all_looked
            && looked >= *count
        {
            all_looked.cancel();
        }
    }

    /// The most turns of one task: looks, and words on a task that ended.
    pub(crate) fn most_turns(&self) -> usize {
        locked(&self.looked).values().copied().max().unwrap_or_default()
    }

    /// How many flights were started.
    pub(crate) fn flights(&self) -> usize {
        locked(&self.starters).len()
    }

    pub(crate) fn starters(&self) -> Vec<TaskId> {
        locked(&self.starters).clone()
    }

    /// A handshake runs until what this gives is dropped.
    pub(crate) fn flying(&self) -> Flying<'_> {
        let now = self.flying.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_flying.fetch_max(now, Ordering::SeqCst);
        Flying(&self.flying)
    }

    pub(crate) fn session_began(&self) {
        self.began.fetch_add(1, Ordering::SeqCst);
    }

    /// How many sessions there were: one for each flight, whatever becomes of it.
    pub(crate) fn sessions(&self) -> usize {
        self.began.load(Ordering::SeqCst)
    }

    pub(crate) fn session_ended(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// The events tell one flight at a time, each with its end, generations without a gap, and each loss once.
    pub(crate) fn check(&self) {
        // Not where it happens: a panic in a flight is one more way for it to fail.
        assert!(self.most_flying.load(Ordering::SeqCst) <= 1, "two handshakes at once");
        let events = locked(&self.events);
        let (mut flying, mut generation, mut lost) = (None, 0, HashSet::new());
        for event in events.iter() {
            match event.event {
                EventName::Connecting | EventName::Recovering => {
                    assert_eq!(flying, None, "two flights at once: {events:?}");
                    assert_eq!(event.generation, generation + 1, "a generation left out: {events:?}");
                    flying = Some(event.generation);
                }
                EventName::ConnectFailed | EventName::RecoveryFailed => {
                    assert_eq!(flying.take(), Some(event.generation), "an end of no flight: {events:?}");
                }
                EventName::Ready => {
                    assert_eq!(flying.take(), Some(event.generation), "an end of no flight: {events:?}");
                    generation = event.generation;
                }
                EventName::SessionLost => {
                    assert!(lost.insert(event.generation), "a loss told twice: {events:?}");
                }
                _ => {}
            }
        }
    }

    /// Every session that there was has ended.
    pub(crate) fn check_all_ended(&self) {
        assert_eq!(self.began.load(Ordering::SeqCst), self.ended.load(Ordering::SeqCst), "a session was left behind");
    }
}

/// A handshake that runs.
pub(crate) struct Flying<'a>(&'a AtomicUsize);

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap()
}
