//! How an attempt ended and what it proves, kept until it is decided what to do about it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::attempt::Ended;
use super::verdict::Circumstances;
use crate::outcome::{Kind, Phase};
use crate::session::Session;
use crate::text;
use crate::transport::answer::Answer;
use crate::transport::classify::{Class, Conclusion};
use crate::transport::headers;

/// How an attempt ended and what it proves.
pub(super) struct Outcome {
    pub(super) facts: Facts,
    pub(super) answer: Option<Answer>,
    pub(super) kind: Kind,
    pub(super) phase: Phase,
    pub(super) circumstances: Circumstances,
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
}

impl Outcome {
    /// Puts the pieces together.
    pub(super) fn new(
        conclusion: Conclusion,
        phase: Phase,
        session: Arc<Session>,
        token: Option<u64>,
        ended: Ended,
        refused: Option<&str>,
    ) -> Self {
        let mut circumstances =
            Circumstances { reason: text::of_end(&ended, conclusion.kind), ..Circumstances::default() };
        if let Some(refused) = refused {
            circumstances.reason = format!("{}, and {refused}", circumstances.reason);
        }
        let answer = match ended {
            Ended::Head { status, headers, answer } => {
                circumstances.http_status = Some(status.as_u16());
                circumstances.retry_after = headers::retry_after(&headers, SystemTime::now());
                if let Answer::Missing { excerpt } = &answer {
                    circumstances.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
                }
                Some(answer)
            }
            Ended::NoHead(failure) => {
                circumstances.source = Some(Arc::new(failure));
                None
            }
            Ended::Silent { .. } | Ended::Unready(_) => None,
        };
        Self {
            facts: Facts {
                class: conclusion.class,
                session: Some(session),
                token,
                retry_after: circumstances.retry_after,
                verified: false,
            },
            answer,
            kind: conclusion.kind.unwrap_or(Kind::Protocol),
            phase,
            circumstances,
        }
    }
}
