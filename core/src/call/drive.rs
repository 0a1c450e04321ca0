//! The loop of a call: a session, an attempt on it, what follows, until the answer or an error.
//!
//! Nothing is decided here: `classify` says what an end proves, `decide` says what to do, `follow_up` does it and counts.

use super::driver::Driver;
use super::follow_up::Next;
use super::input_required::Reading;
use super::judged::{Facts, JudgedAttempt};
use super::spec::Answered;
use super::stand_in::StandIn;
use super::verdict::{self, Circumstances};
use crate::policy::decide::ProofStanding;
use crate::session::sessions::NoSession;
use crate::transport::classify::Class;
use crate::vocabulary::error::Error;
use crate::vocabulary::method::Method;
use crate::vocabulary::outcome::Phase;

impl Driver {
    /// The result; `None` if the call belongs to a session that is no longer the current one.
    pub(crate) async fn drive(&mut self) -> Result<Option<Answered>, Error> {
        if self.spec.method == Method::SUBSCRIBE
            && !self.spec.method.is_raw()
            && let Some(uri) = &self.spec.name
        {
            self.wish = Some(self.engine.sessions.subscriptions().wish(uri));
        }
        let mut session = self.engine.sessions.acquire().await;
        loop {
            let outcome = match session {
                Ok(session) if self.spec.page.is_some_and(|page| page.belongs_elsewhere(session.generation)) => {
                    return match self.spec.page {
                        Some(page) if page.of_caller => Err(verdict::cursor_outlived(&self.record)),
                        _ => Ok(None),
                    };
                }
                Ok(current) => {
                    if let Some(page) = &mut self.spec.page {
                        page.bind(current.generation);
                    }
                    match Box::pin(self.stand_in(&current)).await? {
                        StandIn::Send => Box::pin(self.attempt(current)).await?,
                        StandIn::Done(answered) => return Ok(Some(answered)),
                        StandIn::Moved => {
                            session = self.engine.sessions.acquire().await;
                            continue;
                        }
                    }
                }
                Err(why) => self.without_session(why)?,
            };
            session = match Box::pin(self.follow_up(outcome)).await? {
                Next::Delivered(answered) => match self.read(answered)? {
                    Reading::Whole(answered) => {
                        if let Some(wish) = self.wish.take() {
                            wish.granted();
                            // A stream that was given up for want of anybody who hears is opened again.
                            self.engine.sessions.subscriptions().change();
                        }
                        return Ok(Some(answered));
                    }
                    Reading::Wanted(wanted) => {
                        Box::pin(self.next_leg(wanted)).await?;
                        self.engine.sessions.acquire().await
                    }
                },
                Next::Send(session) => session,
            };
        }
    }

    /// There is no session to send on. The first handshake of a client may be repeated, as long as patience lasts.
    fn without_session(&self, why: NoSession) -> Result<JudgedAttempt, Error> {
        match &why {
            NoSession::Failed { failure, recovering: false } if failure.may_pass => {
                let Error::NotExecuted(text) = verdict::without_session(&self.record, &why) else {
                    return Err(verdict::without_session(&self.record, &why));
                };
                Ok(JudgedAttempt {
                    facts: Facts {
                        proof: ProofStanding::Proven,
                        ..Facts::unproven(Class::NeverSent { transient: true }, None, None)
                    },
                    conclusion: None,
                    refusal: None,
                    answer: None,
                    kind: failure.kind,
                    phase: Phase::Connecting,
                    circumstances: Circumstances {
                        reason: text.reason,
                        http_status: text.http_status,
                        retry_after: text.retry_after,
                        excerpt: text.excerpt,
                        source: None,
                    },
                })
            }
            _ => Err(verdict::without_session(&self.record, &why)),
        }
    }
}
