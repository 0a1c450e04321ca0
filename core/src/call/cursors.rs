//! The cursors that the host was given: each belongs to the session that it came on, and does not outlive it (MCP 2025-11-25, server,
//! utilities, pagination).
//!
//! Bound: the latest [`CURSORS`], as digests. A cursor that is not among them goes to the server as it is: whoever has it from elsewhere
//! may know better.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::vocabulary::method::Method;

/// Cursors that are remembered at most.
const CURSORS: usize = 1_024;

/// The cursors of one client.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    key: RandomState,
    /// Digest and generation, the latest last.
    given: Mutex<VecDeque<(u64, u64)>>,
}

impl Cursors {
    fn given(&self) -> MutexGuard<'_, VecDeque<(u64, u64)>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The host is given this cursor, which came in this generation. A server may give the same one in each.
    pub(crate) fn give(&self, list: &Method, cursor: &str, generation: u64) {
        let digest = self.key.hash_one((list.as_str(), cursor));
        let mut given = self.given();
        given.retain(|(known, _)| *known != digest);
        if given.len() >= CURSORS {
            given.pop_front();
        }
        given.push_back((digest, generation));
    }

    /// The generation in which this cursor was given last, if it is known.
    pub(crate) fn given_in(&self, list: &Method, cursor: &str) -> Option<u64> {
        let digest = self.key.hash_one((list.as_str(), cursor));
        self.given().iter().find(|(known, _)| *known == digest).map(|(_, generation)| *generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_belongs_to_its_list_and_to_the_generation_that_gave_it_last() {
        let cursors = Cursors::default();
        assert_eq!(cursors.given_in(&Method::LIST_TOOLS, "2"), None);
        cursors.give(&Method::LIST_TOOLS, "2", 1);
        assert_eq!(cursors.given_in(&Method::LIST_TOOLS, "2"), Some(1));
        assert_eq!(cursors.given_in(&Method::LIST_PROMPTS, "2"), None);
        cursors.give(&Method::LIST_TOOLS, "2", 3);
        assert_eq!(cursors.given_in(&Method::LIST_TOOLS, "2"), Some(3));
    }

    #[test]
    fn the_latest_are_remembered() {
        let cursors = Cursors::default();
        for number in 0..=CURSORS {
            cursors.give(&Method::LIST_TOOLS, &number.to_string(), 1);
        }
        assert_eq!(cursors.given().len(), CURSORS);
        assert_eq!(cursors.given_in(&Method::LIST_TOOLS, "0"), None);
        assert_eq!(cursors.given_in(&Method::LIST_TOOLS, &CURSORS.to_string()), Some(1));
    }
}
