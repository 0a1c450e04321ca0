//! The line of the table in `docs/retry-safety.md` by which the end of a request is understood.

use std::fmt;

use crate::transport::classify::{Class, Conclusion};
use crate::vocabulary::outcome::ProofBasis;

/// The line of the table by which an end is understood. The names are those of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// No head of an answer arrived: whether the body was taken decides.
    BeforeTheHead,
    /// 1: a result.
    Result,
    /// 2: a JSON-RPC error that answers.
    Error,
    /// 3: a challenge that only our own login can have caused.
    Challenge,
    /// 4: any other whole refusal. It hangs on its twin.
    Refusal,
    /// 5: the stream ended after an event id.
    ReadOn,
    /// 6: everything else. It may have run.
    Else,
}

impl Line {
    /// Of this conclusion. `head` tells that the head of an answer had arrived.
    pub(super) fn of(conclusion: &Conclusion, head: bool) -> Self {
        match conclusion.class {
            _ if !head => Self::BeforeTheHead,
            Class::Answered if conclusion.kind.is_none() => Self::Result,
            Class::Answered | Class::TermsRefused | Class::SessionSuspect => Self::Error,
            Class::Resumable => Self::ReadOn,
            _ if conclusion.basis == Some(ProofBasis::Protocol) => Self::Challenge,
            _ if conclusion.claim.is_some() => Self::Refusal,
            _ => Self::Else,
        }
    }

    /// The number of the line, from 1; none before a head.
    #[must_use]
    pub fn number(self) -> Option<u8> {
        match self {
            Self::BeforeTheHead => None,
            Self::Result => Some(1),
            Self::Error => Some(2),
            Self::Challenge => Some(3),
            Self::Refusal => Some(4),
            Self::ReadOn => Some(5),
            Self::Else => Some(6),
        }
    }

    /// What the line says, in few words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeTheHead => "no head of an answer",
            Self::Result => "a result",
            Self::Error => "an error that answers",
            Self::Challenge => "a challenge of our own login",
            Self::Refusal => "a whole refusal, which hangs on its twin",
            Self::ReadOn => "a stream to read on",
            Self::Else => "everything else, which may have run",
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.number() {
            Some(number) => write!(formatter, "line {number} ({})", self.as_str()),
            None => formatter.write_str(self.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, StatusCode};
    use test_case::test_case;
    use url::Url;

    use super::*;
    use crate::protocol::era::Lifecycle;
    use crate::transport::classify::{self, AnswerId, BodyFacts, EndFacts, Evidence, Login};
    use crate::transport::exchange::Cause;

    const ERROR: BodyFacts<'_> =
        BodyFacts::Error { code: -32_602, message: "no", id: AnswerId::Ours, well_formed: true };
    const LOST: BodyFacts<'_> =
        BodyFacts::Error { code: -32_001, message: "Session not found", id: AnswerId::Foreign, well_formed: true };
    const CUT: BodyFacts<'_> = BodyFacts::Stopped { orderly: false, resumable: true };
    const ENDED: BodyFacts<'_> = BodyFacts::Stopped { orderly: true, resumable: false };

    fn line(status: u16, body: BodyFacts<'_>) -> Line {
        let headers = HeaderMap::new();
        let status = StatusCode::from_u16(status).unwrap();
        of(EndFacts::Head { status, headers: &headers, body }, true)
    }

    fn of(end: EndFacts<'_>, head: bool) -> Line {
        let url = Url::parse("https://a.test/mcp").unwrap();
        let conclusion = classify::call(&Evidence {
            carried_session: true,
            lifecycle: Lifecycle::Legacy,
            body_taken: true,
            url: &url,
            login: Login::None,
            seen: false,
            end,
        });
        Line::of(&conclusion, head)
    }

    #[test_case(200, BodyFacts::Result, 1; "a result")]
    #[test_case(200, ERROR, 2; "an error")]
    #[test_case(404, LOST, 4; "a lost session")]
    #[test_case(401, BodyFacts::NoAnswer { excerpt: "" }, 4; "a refused login")]
    #[test_case(413, BodyFacts::NoAnswer { excerpt: "" }, 4; "too large")]
    #[test_case(200, CUT, 5; "cut after an event id")]
    #[test_case(200, ENDED, 6; "an end without an answer")]
    #[test_case(502, BodyFacts::NoAnswer { excerpt: "" }, 6; "a gateway")]
    fn each_end_has_its_line(status: u16, body: BodyFacts<'_>, number: u8) {
        assert_eq!(line(status, body).number(), Some(number));
    }

    #[test]
    fn without_a_head_there_is_no_number() {
        assert_eq!(of(EndFacts::NoHead(Cause::Closed), false).number(), None);
    }
}
