//! What waits to be handed over to Python: work for its loops, and log records.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use pyo3::prelude::*;

use crate::lock::lock;
use crate::record::Record;

/// Log records wait so long for company; everything else goes at once.
const LOGS_WAIT: Duration = Duration::from_millis(10);
/// Log records held back for a slow logging handler; the oldest is dropped and counted.
const LOGS_HELD: usize = 4_096;

/// Done on the thread of an asyncio loop.
pub(crate) type Work = Box<dyn FnOnce(Python<'_>) + Send>;

/// An asyncio loop.
pub(crate) type Loop = Arc<Py<PyAny>>;

/// Work for a loop.
pub(crate) struct Parcel {
    pub(crate) to: Loop,
    /// May another loop do it, if this one is closed? A callback yes, the future of a closed loop no.
    pub(crate) elsewhere: bool,
    pub(crate) work: Work,
}

#[derive(Default)]
struct Held {
    parcels: Vec<Parcel>,
    logs: VecDeque<Record>,
    logs_dropped: u64,
    stopped: bool,
}

/// What waits for the delivery thread.
#[derive(Default)]
pub(crate) struct Queue {
    held: Mutex<Held>,
    changed: Condvar,
}

impl Queue {
    pub(crate) fn send(&self, parcel: Parcel) {
        let mut held = lock(&self.held);
        held.parcels.push(parcel);
        if held.parcels.len() == 1 {
            self.changed.notify_one();
        }
    }

    pub(crate) fn log(&self, record: Record) {
        let mut held = lock(&self.held);
        if held.logs.len() == LOGS_HELD {
            held.logs.pop_front();
            held.logs_dropped += 1;
        }
        held.logs.push_back(record);
        if held.logs.len() == 1 {
            self.changed.notify_one();
        }
    }

    pub(crate) fn stop(&self) {
        lock(&self.held).stopped = true;
        self.changed.notify_one();
    }

    /// Waits for something to hand over; `None` once stopped and empty.
    pub(crate) fn next(&self) -> Option<(Vec<Parcel>, VecDeque<Record>, u64)> {
        let mut held = lock(&self.held);
        while held.parcels.is_empty() && !held.stopped {
            held = if held.logs.is_empty() {
                self.changed.wait(held).unwrap_or_else(std::sync::PoisonError::into_inner)
            } else {
                let waited = self.changed.wait_timeout(held, LOGS_WAIT);
                let (held, timed_out) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
                if timed_out.timed_out() {
                    return Some(take(held));
                }
                held
            };
        }
        let nothing = held.parcels.is_empty() && held.logs.is_empty();
        if nothing { None } else { Some(take(held)) }
    }
}

fn take(mut held: std::sync::MutexGuard<'_, Held>) -> (Vec<Parcel>, VecDeque<Record>, u64) {
    let dropped = std::mem::take(&mut held.logs_dropped);
    (std::mem::take(&mut held.parcels), std::mem::take(&mut held.logs), dropped)
}
