//! What the answer to an attempt says of session and token, and what its twin proves of it.

use super::driver::Driver;
use super::judged::JudgedAttempt;
use crate::exchange::caller::Caller;
use crate::policy::decide::{Decision, decide};
use crate::session::twin::Said;
use crate::transport::classify::{Class, Doubt};
use crate::vocabulary::outcome::Kind;

impl Driver {
    /// Looks after what the answer says of token and session, whatever becomes of this call.
    pub(super) fn repair(&self, outcome: &JudgedAttempt) {
        let (Some(conclusion), Some(session)) = (&outcome.conclusion, &outcome.facts.session) else { return };
        let sessions = &self.engine.sessions;
        let repair = conclusion.repair;
        // A server that refuses the terms may speak others by now.
        if matches!(conclusion.class, Class::SessionSuspect | Class::TermsRefused) {
            sessions.suspect(session);
        }
        match repair.session {
            Doubt::None => {}
            Doubt::Era => sessions.doubt_era(session),
            Doubt::Over => sessions.lost(session),
            Doubt::Session if conclusion.class != Class::SessionRejected => sessions.suspect(session),
            Doubt::Session => {
                // A call that hangs on its twin leaves it to that.
                let next = decide(&self.situation(&outcome.facts, sessions.generation()));
                if next == Decision::Confirm || next == Decision::Surface {
                    sessions.suspect(session);
                } else {
                    sessions.refused(session);
                }
            }
        }
    }

    /// Sends the twin of the refused attempt, or joins one that is about to go out, and takes down what it proves.
    pub(super) async fn confirm(&self, outcome: &mut JudgedAttempt) {
        let engine = &self.engine;
        let said = match &outcome.refusal {
            Some(refusal) => {
                let asking = engine.twins.confirm(&engine.budget, refusal);
                // What goes out from now on carries another token, which is asked for when the twin is back.
                self.record.lets_go_of_its_token();
                self.doubt_token(outcome);
                tokio::select! {
                    biased;
                    said = asking => said,
                    // What the server said is in hand, and is told as it is.
                    () = self.record.clock().expired() => Said::default(),
                }
            }
            None => Said::default(),
        };
        if let (true, Some(session)) = (said.lost, &outcome.facts.session) {
            // What it was refused with is another matter.
            engine.sessions.lost(session);
        }
        if !said.confirms {
            outcome.stays_unconfirmed();
            return;
        }
        outcome.is_confirmed();
        if let Some(conclusion) = &outcome.conclusion {
            self.record.confirm(conclusion);
        }
        let Some(session) = &outcome.facts.session else { return };
        match outcome.facts.class {
            Class::SessionRejected => engine.sessions.lost(session),
            // Everything on this session is refused, in words that nobody listed.
            Class::Rejected if outcome.conclusion.is_some_and(|conclusion| conclusion.repair.counts) => {
                engine.sessions.suspect(session);
            }
            // The twin was the question which era the server is of: whatever was asked a moment ago, it is answered otherwise now.
            Class::Rejected if session.is_modern() && outcome.kind != Kind::Auth => engine.sessions.suspect(session),
            _ => {}
        }
    }

    /// If its token was refused, the next request asks for another one.
    pub(super) fn doubt_token(&self, outcome: &JudgedAttempt) {
        if let (Some(conclusion), Some(token)) = (&outcome.conclusion, outcome.facts.token)
            && conclusion.repair.token
        {
            self.engine.wire.tokens.doubt(token);
        }
    }
}
