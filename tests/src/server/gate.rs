//! Named points in a script where the test and the server meet, so that no test has to guess with a sleep.

use std::collections::BTreeMap;
use std::sync::Mutex;

use serde::Serialize;
use tokio::sync::watch;

/// What is known of one gate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct GateState {
    /// How often a script came to it.
    pub reached: u64,
    /// Whether it is open.
    pub released: bool,
}

/// All gates of one server; a gate exists as soon as anyone names it.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    gates: Mutex<BTreeMap<String, watch::Sender<GateState>>>,
}

impl Gates {
    fn with<T>(&self, name: &str, act: impl FnOnce(&watch::Sender<GateState>) -> T) -> T {
        let mut gates = self.gates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        act(gates.entry(name.to_owned()).or_insert_with(|| watch::channel(GateState::default()).0))
    }

    pub(crate) fn mark(&self, name: &str) {
        self.with(name, |gate| gate.send_modify(|state| state.reached += 1));
    }

    pub(crate) fn release(&self, name: &str) {
        self.with(name, |gate| gate.send_modify(|state| state.released = true));
    }

    async fn until(&self, name: &str, wanted: impl FnMut(&GateState) -> bool) {
        let mut receiver = self.with(name, watch::Sender::subscribe);
        // The sender lives as long as the gates do; should they go, nobody waits for anything any more.
        let _ = receiver.wait_for(wanted).await;
    }

    pub(crate) async fn reached(&self, name: &str, times: u64) {
        self.until(name, |state| state.reached >= times).await;
    }

    pub(crate) async fn released(&self, name: &str) {
        self.until(name, |state| state.released).await;
    }

    pub(crate) fn states(&self) -> BTreeMap<String, GateState> {
        let gates = self.gates.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        gates.iter().map(|(name, gate)| (name.clone(), *gate.borrow())).collect()
    }
}
