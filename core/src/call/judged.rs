//! How an attempt ended and what it proves, kept until it is decided what to do about it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::verdict::Circumstances;
use crate::exchange::answer::Answer;
use crate::exchange::post::ExchangeEnd;
use crate::exchange::sent::Sent;
use crate::exchange::text;
use crate::policy::decide::ProofStanding;
use crate::session::Session;
use crate::session::twin::Refusal;
use crate::transport::classify::{Class, Conclusion, Refused};
use crate::transport::headers;
use crate::vocabulary::outcome::{Kind, Phase};

/// How an attempt ended and what it proves.
pub(super) struct JudgedAttempt {
    pub(super) facts: Facts,
    pub(super) answer: Option<Answer>,
    pub(super) kind: Kind,
    pub(super) phase: Phase,
    pub(super) circumstances: Circumstances,
    /// What `classify` made of it.
    pub(super) conclusion: Option<Conclusion>,
    /// Of an attempt that was refused, and whose twin may be sent: what the twin needs.
    pub(super) refusal: Option<Refusal>,
}

/// What a decision needs of it.
pub(super) struct Facts {
    pub(super) class: Class,
    /// The session that carried it; none where there was none to carry it.
    pub(super) session: Option<Arc<Session>>,
    /// The serial of the token that it carried.
    pub(super) token: Option<u64>,
    pub(super) retry_after: Option<Duration>,
    /// The session was verified since.
    pub(super) verified: bool,
    /// Is it proven that it did not run?
    pub(super) proof: ProofStanding,
}

impl Facts {
    /// An attempt of which nothing proves that it did not run.
    pub(super) fn unproven(class: Class, session: Option<Arc<Session>>, token: Option<u64>) -> Self {
        Self { class, session, token, retry_after: None, verified: false, proof: ProofStanding::None }
    }
}

/// The pieces of an outcome.
pub(super) struct Pieces<'a> {
    pub(super) conclusion: Conclusion,
    pub(super) phase: Phase,
    pub(super) session: Arc<Session>,
    pub(super) sent: Sent,
    pub(super) ended: ExchangeEnd,
    /// Why the stream could not be read on.
    pub(super) unresumed: Option<&'a str>,
    /// From the moment when the body was taken to the end of the answer.
    pub(super) took: Duration,
    /// Something of the attempt was seen, or an earlier one may have run: no twin can prove anything.
    pub(super) beyond_proof: bool,
    /// An earlier attempt may have run.
    pub(super) again: bool,
}

impl JudgedAttempt {
    /// Puts the pieces together.
    pub(super) fn new(pieces: Pieces<'_>) -> Self {
        let Pieces { conclusion, phase, session, sent, ended, unresumed, took, beyond_proof, again } = pieces;
        let mut circumstances =
            Circumstances { reason: text::of_end(&ended, conclusion.kind), ..Circumstances::default() };
        if let Some(unresumed) = unresumed {
            circumstances.reason = format!("{}, and {unresumed}", circumstances.reason);
        }
        let mut words = None;
        let answer = match ended {
            ExchangeEnd::Head { status, headers, answer } => {
                circumstances.http_status = Some(status.as_u16());
                circumstances.retry_after = headers::retry_after(&headers, SystemTime::now());
                if let Answer::Missing { excerpt, .. } = &answer {
                    circumstances.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
                }
                words = answer.words(status, &headers);
                Some(answer)
            }
            ExchangeEnd::Message { answer } => {
                if let Answer::Missing { excerpt, .. } = &answer {
                    circumstances.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
                }
                Some(answer)
            }
            ExchangeEnd::NoHead(failure) => {
                circumstances.source = Some(Arc::new(failure));
                None
            }
            ExchangeEnd::Silent { .. } | ExchangeEnd::Unready(_) => None,
        };
        let refusal = words.filter(|_| conclusion.claim.is_some() && !beyond_proof).map(|words| Refusal {
            session: Arc::clone(&session),
            sent: sent.clone(),
            refused: Refused { words, took },
            of_login: conclusion.class == Class::Unauthorized,
        });
        let proof = match (conclusion.proof, &refusal) {
            (Some(_), _) => ProofStanding::Proven,
            (None, Some(_)) => ProofStanding::Unasked,
            (None, None) => ProofStanding::None,
        };
        let mut outcome = Self {
            facts: Facts {
                class: conclusion.class,
                session: Some(session),
                token: sent.token,
                retry_after: circumstances.retry_after,
                verified: false,
                proof,
            },
            answer,
            kind: conclusion.kind.unwrap_or(Kind::Protocol),
            phase,
            circumstances,
            conclusion: Some(conclusion),
            refusal,
        };
        // A refusal to do it again is no answer to a call that may have run before.
        if outcome.facts.proof == ProofStanding::None && !again {
            outcome.stays_unconfirmed();
        }
        outcome
    }

    /// The twin was refused in the same words: what the attempt claims is proven.
    pub(super) fn is_confirmed(&mut self) {
        self.facts.proof = ProofStanding::Proven;
        self.conclusion = self.conclusion.map(Conclusion::confirmed);
    }

    /// Nothing confirms the refusal: it is told as the answer that it is.
    pub(super) fn stays_unconfirmed(&mut self) {
        self.facts.proof = ProofStanding::None;
        if let Some(conclusion) = &self.conclusion
            && conclusion.claim.is_some()
            && let Some(kind) = conclusion.unconfirmed
        {
            self.kind = kind;
            if let (Kind::SessionLost, Some(answer)) = (conclusion.kind.unwrap_or(kind), &self.answer) {
                let status = self.circumstances.http_status.unwrap_or_default();
                self.circumstances.reason = text::of_refusal(status, answer);
            }
        }
    }
}
