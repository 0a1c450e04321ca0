//! The guard of a call: judges it when its future is dropped, or when it is ended from outside.

use std::sync::Arc;

use super::cancel::tell_cancelled;
use super::engine::Engine;
use super::record::CallRecord;
use super::verdict::{self, Connecting};
use crate::session::state::State;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::outcome::{Execution, Kind, Proof};

/// Judges a call whose future is dropped, tells the server that nobody waits, and sends nothing else.
pub(super) struct Guard {
    engine: Arc<Engine>,
    record: Arc<CallRecord>,
    armed: bool,
}

impl Guard {
    pub(super) fn new(engine: &Arc<Engine>, record: &Arc<CallRecord>) -> Self {
        Self { engine: Arc::clone(engine), record: Arc::clone(record), armed: true }
    }

    /// The caller's clock or `close()` ends the call.
    pub(super) fn interrupt(&self, kind: Kind) -> Error {
        let phase = self.record.phase();
        self.end(kind);
        verdict::interrupted(&self.record, kind, phase, self.connecting().as_ref())
    }

    /// What the call waits for, if it is a session.
    fn connecting(&self) -> Option<Connecting> {
        let connects = matches!(self.engine.sessions.state(), State::Connecting | State::Recovering(_));
        connects.then(|| Connecting { trouble: self.engine.sessions.handshake.trouble() })
    }

    fn end(&self, kind: Kind) {
        if let Some(in_flight) = self.record.interrupt(kind) {
            tell_cancelled(&self.engine, in_flight);
        }
    }

    /// The call is over; one that was answered and goes on with the next page is not.
    pub(super) fn finish(mut self, error: Option<&Error>, goes_on: bool) {
        self.armed = false;
        if goes_on && error.is_none() {
            return;
        }
        let execution = error.map_or(Execution::Answered, Error::execution);
        self.emit(execution, error.map(Error::kind), error.and_then(Error::proof));
    }

    fn emit(&self, execution: Execution, kind: Option<Kind>, proof: Option<Proof>) {
        self.engine.wire.events.emit(Event {
            execution: Some(execution),
            kind,
            proof,
            attempt: Some(self.record.started()),
            ..self.record.event(EventName::CallFinished)
        });
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if self.armed {
            self.end(Kind::Cancelled);
            let verdict = verdict::without_answer(&self.record.attempts());
            self.emit(verdict.execution, Some(Kind::Cancelled), verdict.proof);
        }
    }
}
