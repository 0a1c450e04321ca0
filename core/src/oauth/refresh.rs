//! A refresh is a call that may be lost, and a refresh token that rotates may be used once: so the intent is on the disk before it is sent,
//! the new pair before it is used, and an answer that was lost is neither repeated blindly nor taken for a refusal.
//!
//! Nothing is wiped on doubt. Only `invalid_grant` for the newest stored token, or `invalid_client`, marks a login as dead, with the reason;
//! a dead token is never sent again. What a server in trouble says, or does not say, leaves everything as it was.

use std::time::SystemTime;

use super::classify::TokenAnswer;
use super::error::LoginError;
use super::login::{Access, Login};
use super::record::{Dead, Intent, Record, Registration, digest_of, seconds_of};
use super::registration::registered_beforehand;
use super::token_request::Asker;
use crate::vocabulary::event::EventName;

/// How often a refresh token is sent whose answers are lost. Each time the server may have granted it, or may not have seen it: the only way
/// to know is to send it again, which harms nothing that is not lost already. Processes that are killed one after the other, each while it
/// refreshes, must not use it up; a server that never answers must not keep a login from being asked for.
const TRIES: u32 = 10;

/// How often it is sent that was refused in words that do not say that it is dead. Then a login is asked for.
const REFUSALS: u32 = 2;

/// What is done after one try of a refresh.
#[derive(Debug, PartialEq, Eq)]
enum After {
    /// The server has not looked at it, or not now: as if it had not been sent.
    AsBefore(String),
    /// What became of it is not known.
    Unknown(String),
    /// It was refused in words that do not say that the token is dead.
    Refused(String),
    /// The token is good for nothing any more.
    Dead { reason: String, client_too: bool },
}

/// What is done; `None` if it was granted. `earlier` tells that an answer was lost before.
fn after(answer: &TokenAnswer, earlier: bool) -> Option<After> {
    let dead = |reason: &String, client_too| {
        let lost = if earlier { ", and the answer to an earlier refresh was lost" } else { "" };
        After::Dead { reason: format!("{reason}{lost}"), client_too }
    };
    Some(match answer {
        TokenAnswer::Granted(_) => return None,
        TokenAnswer::DeadGrant(reason) => dead(reason, false),
        TokenAnswer::DeadClient(reason) => dead(reason, true),
        TokenAnswer::NotNow { reason, retry_after } => After::AsBefore(match retry_after {
            Some(wait) => format!("{reason}, and it asks to wait {} s", wait.as_secs()),
            None => reason.clone(),
        }),
        TokenAnswer::NeverSent(reason) => After::AsBefore(reason.clone()),
        TokenAnswer::Nonce => After::AsBefore("it wants a nonce".to_owned()),
        TokenAnswer::Lost(reason) => After::Unknown(reason.clone()),
        TokenAnswer::Refused(reason) => After::Refused(reason.clone()),
    })
}

impl Login {
    /// Refreshes, once; the lock is held. `None` if there is nothing to refresh with any more, so that a person has to log in.
    ///
    /// # Errors
    /// It did not work for now, and the login stays as it is.
    pub(super) async fn refresh(&self, record: &mut Record) -> Result<Option<Access>, LoginError> {
        let Some(token) = record.refresh_token().map(str::to_owned) else { return Ok(None) };
        let of = digest_of(&token);
        let before = record.intent.clone().filter(|intent| intent.of == of);
        let (tries, refusals) = before.as_ref().map_or((0, 0), |intent| (intent.tries, intent.refusals));
        if tries >= TRIES || refusals >= REFUSALS {
            return Ok(None);
        }
        let client = self.client_of(record)?;
        let prover = self.prover(record)?;
        let since = before.as_ref().map_or_else(|| seconds_of(SystemTime::now()), |intent| intent.since);
        record.intent = Some(Intent { of: of.clone(), since, tries: tries + 1, refusals });
        self.save(record).await.map_err(|error| error.while_("the login was not refreshed"))?;
        let mut parameters = vec![("grant_type", "refresh_token"), ("refresh_token", token.as_str())];
        let resource = record.origin.resource.clone();
        parameters.extend(resource.as_deref().map(|resource| ("resource", resource)));
        let asker = Asker {
            fetch: &self.fetch,
            origin: &record.origin,
            client: Some(&client),
            key: self.signing_key.as_ref(),
            prover: prover.as_deref(),
        };
        let answer = asker.ask(&parameters).await?;
        if let TokenAnswer::Granted(granted) = &answer {
            let scopes = record.tokens.as_ref().map(|tokens| tokens.scopes.clone()).unwrap_or_default();
            self.take(record, granted, &scopes)?;
            if let Some(tokens) = &mut record.tokens
                && tokens.refresh_token.is_none()
            {
                // RFC 6749, section 6: it need not be replaced.
                tokens.refresh_token = Some(token);
            }
            self.save_granted(record).await?;
            self.tell(EventName::TokenRefreshed, None);
            return match &record.tokens {
                Some(tokens) => self.adopt(record, tokens).map(Some),
                None => Ok(None),
            };
        }
        match after(&answer, tries > 0) {
            None => Ok(None),
            Some(After::AsBefore(reason)) => {
                record.intent = before;
                // If this is not saved, one try more counts than there was: that loses nothing.
                let _ = self.save(record).await;
                Err(LoginError::passing(format!("the login was not refreshed, and stays as it is: {reason}")))
            }
            Some(After::Unknown(reason)) => {
                let told =
                    format!("whether the login was refreshed is not known, it is tried once more later: {reason}");
                self.again_or_lost(tries + 1 < TRIES, told, format!("{TRIES} answers to a refresh were lost: {reason}"))
            }
            Some(After::Refused(reason)) => {
                // It was answered: that try is not one of those whose answer was lost.
                record.intent = Some(Intent { of, since, tries, refusals: refusals + 1 });
                // If this is not saved, it counts as a lost answer.
                let _ = self.save(record).await;
                let told = format!("the login was not refreshed, it is tried once more later: {reason}");
                let lost = format!("the login could not be refreshed {REFUSALS} times: {reason}");
                self.again_or_lost(refusals + 1 < REFUSALS, told, lost)
            }
            Some(After::Dead { reason, client_too }) => {
                record.dead = Some(Dead { reason: reason.clone(), at: seconds_of(SystemTime::now()) });
                record.intent = None;
                if client_too {
                    // It registers itself anew; what the options name stays.
                    record.clients.remove(&record.origin.issuer);
                }
                // If this is not saved, the next process is told the same by the server.
                let _ = self.save(record).await;
                self.tell(
                    EventName::LoginLost,
                    Some(format!("the authorization server does not honour it any more: {reason}")),
                );
                Ok(None)
            }
        }
    }

    /// Tries it later, or gives it up: then a person has to log in.
    fn again_or_lost(&self, again: bool, told: String, lost: String) -> Result<Option<Access>, LoginError> {
        if again {
            return Err(LoginError::passing(told));
        }
        self.tell(EventName::LoginLost, Some(lost));
        Ok(None)
    }

    /// The client that the tokens of the record were granted to.
    fn client_of(&self, record: &mut Record) -> Result<Registration, LoginError> {
        let issuer = record.origin.issuer.clone();
        if let Some(client) = registered_beforehand(&self.oauth, record, &issuer)? {
            return Ok(client);
        }
        if let Some(client) = record.clients.get(&issuer) {
            return Ok(client.clone());
        }
        match &self.oauth.client_metadata_url {
            Some(url) => Ok(Registration::by_document(url)),
            None => Err(LoginError::lasting("the client that logged in is not known any more")),
        }
    }
}

#[cfg(test)]
mod tests {
    use test_case::test_case;

    use super::*;

    #[test_case(&TokenAnswer::NotNow { reason: "HTTP 503".into(), retry_after: None }, "as before"; "a server in trouble")]
    #[test_case(&TokenAnswer::NeverSent("refused".into()), "as before"; "never sent")]
    #[test_case(&TokenAnswer::Lost("cut".into()), "unknown"; "lost")]
    #[test_case(&TokenAnswer::Refused("invalid_request".into()), "refused"; "refused in other words")]
    #[test_case(&TokenAnswer::DeadGrant("invalid_grant".into()), "dead"; "dead")]
    #[test_case(&TokenAnswer::DeadClient("invalid_client".into()), "dead, client too"; "the client is not known")]
    fn what_is_done_after_a_refresh(answer: &TokenAnswer, expected: &str) {
        let sort = match after(answer, false) {
            Some(After::AsBefore(_)) => "as before",
            Some(After::Unknown(_)) => "unknown",
            Some(After::Refused(_)) => "refused",
            Some(After::Dead { client_too: false, .. }) => "dead",
            Some(After::Dead { client_too: true, .. }) => "dead, client too",
            None => "granted",
        };
        assert_eq!(sort, expected);
    }

    #[test]
    fn a_refusal_after_a_lost_answer_says_so() {
        let answer = TokenAnswer::DeadGrant("invalid_grant".into());
        let Some(After::Dead { reason, .. }) = after(&answer, true) else { panic!("not dead") };
        assert!(reason.contains("earlier refresh was lost"), "{reason}");
    }
}
