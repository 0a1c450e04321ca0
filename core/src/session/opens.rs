//! How often a stream is opened again on which a server may speak unasked: GET in the handshake era, `subscriptions/listen` in the modern one.
//!
//! An open was healthy if the stream stood for [`HEALTHY`], or a message came on it. Where nobody wants to hear what the server says, no
//! handler and no subscription, [`OPENS`] in a row that were not end it. Where somebody does, the client listens as long as the session
//! lives; there whatever came counts, be it a comment, since the server speaks at all.
//!
//! The rate is bounded all the same. The gap after an open is [`GAP_MIN`] and a random part whose bound doubles from that to [`GAP_MAX`], and
//! begins anew after a healthy one: at most two opens a second, and one in a quarter of a minute where nothing comes of them. Who is
//! listened to and let the stream open is waited for [`HEALTHY`] at most on top.
//!
//! A token that the server refused to the stream is renewed once, and then the stream is opened at once. If the new one is refused too, the
//! provider is not asked again: a token that a call got is waited for instead.

use std::time::Duration;

use tokio::time::Instant;

use crate::auth::TokenCache;
use crate::policy::backoff::{Backoff, BackoffBounds};

/// Opens in a row that may come to nothing.
pub(super) const OPENS: u32 = 8;
/// The least time from the end of an open to the next, and the first bound of what is added to it.
pub(super) const GAP_MIN: Duration = Duration::from_millis(500);
/// The largest bound of what is added.
pub(super) const GAP_MAX: Duration = Duration::from_secs(30);
/// A stream that was open for so long was healthy: proxies end what is silent for a minute.
pub(super) const HEALTHY: Duration = Duration::from_secs(5);

/// What one open brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Brought {
    /// Since when the stream was open.
    pub(super) since: Option<Instant>,
    /// Anything came on it.
    pub(super) carried: bool,
    /// A message came on it, or what the server takes for one.
    pub(super) spoke: bool,
}

/// The opens of one session.
#[derive(Debug)]
pub(super) struct Opens {
    gaps: Backoff,
    largest_gap: Duration,
    in_vain: u32,
    /// The token that was refused to the last open.
    refused: Option<u64>,
    /// The token was renewed since the last stream that opened.
    renewed: bool,
}

impl Opens {
    pub(super) fn new() -> Self {
        let gaps = Backoff::new(BackoffBounds::new(GAP_MIN, GAP_MAX).unwrap_or_default());
        Self { gaps, largest_gap: GAP_MAX, in_vain: 0, refused: None, renewed: false }
    }

    /// An open is over. Does somebody want to hear what comes?
    pub(super) fn ended(&mut self, brought: Brought, wanted: bool) {
        let stood = brought.since.is_some_and(|since| since.elapsed() >= HEALTHY);
        self.refused = None;
        self.renewed &= brought.since.is_none();
        self.largest_gap = if wanted && brought.since.is_some() { HEALTHY } else { GAP_MAX };
        if stood || brought.spoke || (wanted && brought.carried) {
            self.begin_anew();
        } else {
            self.in_vain += 1;
        }
    }

    /// What was in vain so far does not count any more.
    pub(super) fn begin_anew(&mut self) {
        self.in_vain = 0;
        self.renewed = false;
        self.gaps.reset();
    }

    /// So many opens came to nothing that whoever waits for the next one is told, and the last one if nobody does.
    pub(super) fn are_in_vain(&self) -> bool {
        self.in_vain >= OPENS
    }

    /// How long to wait before the next one, and the server's own word at least.
    pub(super) fn gap(&mut self, least: Duration) -> Duration {
        least.max(GAP_MIN) + self.gaps.next_delay().min(self.largest_gap)
    }

    /// The open was refused with 401, and carried this token. Is there another one by now, so that it can be opened at once?
    pub(super) async fn renew(&mut self, tokens: &TokenCache, refused: Option<u64>) -> bool {
        self.refused = refused;
        let Some(refused) = refused.filter(|_| !self.renewed) else { return false };
        self.renewed = true;
        let came = matches!(tokens.refresh(refused).await, Ok(Some(_)));
        if came {
            self.refused = None;
        }
        came
    }

    /// Completes when there is a newer token than the one that was refused; never, if none was.
    pub(super) async fn token_came(&self, tokens: &TokenCache) {
        match self.refused {
            Some(refused) => tokens.newer_came(refused).await,
            None => std::future::pending().await,
        }
    }
}
