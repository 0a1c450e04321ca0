//! Sessions that a server made without being asked for one, and named in a refusal. They are never used, and each gets one DELETE.
//!
//! PyPI mcp up to 1.26 is one of those: whatever arrives without a session makes one, also the question which era a server is of, and a
//! refusal of that names it. Only a refusal of a request that bore no session counts, and no id that is or was a session of ours: a
//! server that has the same id for everybody must not lose it by our hand.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use http::HeaderMap;

use super::headers::{SESSION_ID, SessionId, session_id};

/// As many wait for their DELETE at most; those past it are left to the server.
const WAITING: usize = 16;
/// As many ids are remembered, so that none gets a second DELETE.
const REMEMBERED: usize = 64;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Leftovers(Mutex<Ids>);

#[derive(Debug, Default)]
struct Ids {
    waiting: Vec<SessionId>,
    /// Given to us in earnest, or ended by us: oldest first.
    known: VecDeque<SessionId>,
}

impl Leftovers {
    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request with these headers was refused with those.
    pub(crate) fn refused(&self, request: &HeaderMap, answer: &HeaderMap) {
        if request.contains_key(SESSION_ID) {
            return;
        }
        let Some(id) = session_id(answer) else { return };
        let mut ids = self.ids();
        if ids.waiting.len() < WAITING && !ids.waiting.contains(&id) {
            ids.waiting.push(id);
        }
    }

    /// This one is ours: it has a DELETE of its own.
    pub(crate) fn is_ours(&self, id: &SessionId) {
        self.ids().remember(id.clone());
    }

    /// Those that nobody uses, each once.
    pub(crate) fn take(&self) -> Vec<SessionId> {
        let mut ids = self.ids();
        let mut waiting = std::mem::take(&mut ids.waiting);
        waiting.retain(|id| !ids.known.contains(id));
        for id in &waiting {
            ids.remember(id.clone());
        }
        waiting
    }
}

impl Ids {
    fn remember(&mut self, id: SessionId) {
        if self.known.contains(&id) {
            return;
        }
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        self.known.push_back(id);
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn naming(id: &str) -> HeaderMap {
        [(SESSION_ID, HeaderValue::from_str(id).unwrap())].into_iter().collect()
    }

    fn id(text: &str) -> SessionId {
        session_id(&naming(text)).unwrap()
    }

    #[test]
    fn what_a_refusal_names_is_taken_once() {
        let leftovers = Leftovers::default();
        for _ in 0..2 {
            leftovers.refused(&HeaderMap::new(), &naming("a"));
        }
        leftovers.refused(&HeaderMap::new(), &HeaderMap::new());
        assert_eq!(leftovers.take(), [id("a")]);
        leftovers.refused(&HeaderMap::new(), &naming("a"));
        assert!(leftovers.take().is_empty());
    }

    #[test]
    fn what_a_request_of_a_session_gets_is_no_leftover_nor_is_what_is_ours() {
        let leftovers = Leftovers::default();
        leftovers.refused(&naming("s"), &naming("b"));
        leftovers.refused(&HeaderMap::new(), &naming("c"));
        leftovers.is_ours(&id("c"));
        assert!(leftovers.take().is_empty());
    }

    #[test]
    fn there_is_a_bound_to_what_is_kept() {
        let leftovers = Leftovers::default();
        for round in 0..100 {
            for number in 0..100 {
                leftovers.refused(&HeaderMap::new(), &naming(&format!("{round}-{number}")));
            }
            assert_eq!(leftovers.take().len(), WAITING);
        }
        assert_eq!(leftovers.ids().known.len(), REMEMBERED);
    }
}
