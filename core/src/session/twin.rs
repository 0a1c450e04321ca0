//! The twin: a harmless request on the session of one that was refused, with the identity that it carried. If the server refuses it in the
//! same words, it refuses everything of ours, and the refused request did not run.
//!
//! One twin answers for every refusal that was read before it was sent, and for none that was read later. It goes out in a task of its own
//! and blocks nobody else; its session lives at least as long, so that no DELETE of ours makes the server refuse it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::time::{Instant, sleep, timeout};

use super::Session;
use crate::exchange::answer::{Answer, Limits, Position};
use crate::exchange::post::{ExchangeEnd, Post};
use crate::exchange::request::Request;
use crate::exchange::sent::Sent;
use crate::exchange::wire::Wire;
use crate::policy::budget::Budget;
use crate::rpc::params::Params;
use crate::session::discover::DISCOVER;
use crate::session::router::Router;
use crate::transport::classify::{self, Ping, Refused};
use crate::transport::probe::Probe;
use crate::vocabulary::counter::Counter;
use crate::vocabulary::lock::lock;

/// How long a call waits for its twin.
const TWIN_PATIENCE: Duration = Duration::from_secs(2);

/// How long a twin waits for calls that are in flight: they may be about to be refused too, and one twin answers for all that were. The twin
/// of a refused token waits in any case: it is a failed login, and servers count those.
const GATHERING: Duration = Duration::from_millis(25);

/// Twins for one refused token within [`LOGIN_WINDOW`].
const TWINS_OF_A_LOGIN: usize = 3;
/// See [`TWINS_OF_A_LOGIN`].
const LOGIN_WINDOW: Duration = Duration::from_secs(60);

/// Twins of refused tokens within [`LOGIN_WINDOW`], whatever the tokens.
const TWINS_OF_ALL_LOGINS: usize = 64;

/// A refusal that waits to be confirmed.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) session: Arc<Session>,
    /// What the refused request carried.
    pub(crate) sent: Sent,
    pub(crate) refused: Refused,
    /// It is the login that was refused.
    pub(crate) of_login: bool,
}

/// What came of a twin: how it was refused, if it was.
type Twin = Shared<BoxFuture<'static, Option<Heard>>>;

/// How a twin was refused.
#[derive(Clone, Copy)]
struct Heard {
    refused: Refused,
    /// The server says, to all that it was asked, that it does not know the session.
    says_lost: bool,
    /// How often the client had done what may end a token when it was heard.
    renewals: Option<u64>,
}

/// What a twin says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The server refuses everything in the words of the refusal.
    pub(crate) confirms: bool,
    /// The server does not know the session, whatever the words of the refusal.
    pub(crate) lost: bool,
}

/// The twins of one client.
pub(crate) struct Twins {
    sender: Sender,
    flights: Arc<Mutex<Vec<Flight>>>,
    /// When a twin was sent with a login that had been refused.
    logins: Mutex<Vec<(Instant, Sent)>>,
    out: Counter,
}

struct Flight {
    number: u64,
    generation: u64,
    sent: Sent,
    /// It is on its way: it answers for no refusal that is read from now on.
    gone_out: bool,
    twin: Twin,
}

impl std::fmt::Debug for Twins {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Twins").field("flights", &lock(&self.flights).len()).finish_non_exhaustive()
    }
}

impl Twins {
    /// Those that are out, or about to go, are counted by `out`.
    pub(crate) fn new(wire: Arc<Wire>, router: Arc<Router>, limits: Limits, out: Counter) -> Self {
        Self { sender: Sender { wire, router, limits }, flights: Arc::default(), logins: Mutex::default(), out }
    }

    /// Is the refusal confirmed? Asked after it was read whole: the twin is there, or about to go, when this returns, and what it gives
    /// says no within [`TWIN_PATIENCE`] at the latest.
    pub(crate) fn confirm<'a>(&self, budget: &Budget, refusal: &'a Refusal) -> impl Future<Output = Said> + use<'a> {
        // A session that we ourselves ended is refused whatever became of the call.
        let twin = if refusal.session.is_ended() { None } else { self.join_or_send(budget, refusal) };
        async move {
            let Some(twin) = twin else { return Said::default() };
            let Some(heard) = timeout(TWIN_PATIENCE, twin).await.ok().flatten() else { return Said::default() };
            let is_ended = refusal.session.is_ended();
            // The asking for the next token may have cost this one its life.
            let confirms = classify::twin(&refusal.refused, &heard.refused)
                && !is_ended
                && refusal.sent.left_its_token_alone(heard.renewals);
            Said { confirms, lost: heard.says_lost && !is_ended }
        }
    }

    /// The twin that has not gone out yet, or a new one; none if there is nothing left to send it with.
    fn join_or_send(&self, budget: &Budget, refusal: &Refusal) -> Option<Twin> {
        let mut flights = lock(&self.flights);
        let is_alike = |flight: &&Flight| {
            flight.generation == refusal.session.generation && flight.sent.has_the_identity_of(&refusal.sent)
        };
        if let Some(flight) = flights.iter().filter(is_alike).find(|flight| !flight.gone_out) {
            return Some(flight.twin.clone());
        }
        let tokens = &self.sender.wire.tokens;
        let held = refusal.sent.token.map(|_| tokens.twin_is_out());
        if !refusal.sent.left_its_token_alone(tokens.renewals()) {
            return None;
        }
        let may_go = if refusal.of_login { self.try_login(budget, &refusal.sent) } else { budget.withdraw() };
        if !may_go {
            return None;
        }
        let before = flights.iter().rfind(is_alike).map(|flight| flight.twin.clone());
        let number = flights.last().map_or(0, |flight| flight.number + 1);
        let list = Arc::clone(&self.flights);
        let (session, sent) = (Arc::clone(&refusal.session), refusal.sent.clone());
        let (sender, of_login) = (self.sender.clone(), refusal.of_login);
        let out = self.out.hold();
        let flying = async move {
            // Taken off the list however it ends.
            let _listed = (Listed { list: Arc::clone(&list), number }, out);
            // No token is renewed until what it says was heard.
            let _held = held;
            let asking = async {
                if let Some(before) = before {
                    before.await;
                }
                if of_login {
                    sleep(GATHERING).await;
                } else {
                    let _ = timeout(GATHERING, session.quiet()).await;
                }
                if let Some(flight) = lock(&list).iter_mut().find(|flight| flight.number == number) {
                    flight.gone_out = true;
                }
                timeout(TWIN_PATIENCE, sender.send(&session, &sent)).await.ok().flatten()
            };
            tokio::select! {
                biased;
                () = sender.wire.background.closing().cancelled() => None,
                twin = asking => twin,
            }
        };
        let flown = self.sender.wire.background.spawn(flying);
        let twin = async move { flown.await.ok().flatten() }.boxed().shared();
        flights.push(Flight {
            number,
            generation: refusal.session.generation,
            sent: refusal.sent.clone(),
            gone_out: false,
            twin: twin.clone(),
        });
        Some(twin)
    }

    /// Draws on the budget for one more try of a login that was refused, and notes it; false if there were enough of them lately, or
    /// nothing is left to draw on.
    fn try_login(&self, budget: &Budget, sent: &Sent) -> bool {
        let mut logins = lock(&self.logins);
        let now = Instant::now();
        logins.retain(|(at, _)| now.duration_since(*at) < LOGIN_WINDOW);
        let tried = logins.iter().filter(|(_, tried)| tried.has_the_token_of(sent)).count();
        let may_try = tried < TWINS_OF_A_LOGIN && logins.len() < TWINS_OF_ALL_LOGINS && budget.withdraw();
        if may_try {
            logins.push((now, sent.clone()));
        }
        may_try
    }
}

/// Takes a flight off the list when dropped.
struct Listed {
    list: Arc<Mutex<Vec<Flight>>>,
    number: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&self.list).retain(|flight| flight.number != self.number);
    }
}

/// What a twin is sent with.
#[derive(Clone)]
struct Sender {
    wire: Arc<Wire>,
    router: Arc<Router>,
    limits: Limits,
}

impl Sender {
    /// Sends it: `ping`, or a list of the tools where ping is not known; in the modern era `server/discover`, for a modern server refuses each
    /// ping, and a tool can do the same. How it was refused, if it was, and was read whole.
    async fn send(&self, session: &Arc<Session>, sent: &Sent) -> Option<Heard> {
        let mut refused: Option<Refused> = None;
        let mut says_lost = true;
        let methods: &[&str] = if session.is_modern() { &[DISCOVER] } else { &["ping", "tools/list"] };
        for (number, method) in methods.iter().enumerate() {
            let inbox = self.router.own(Some(session));
            let attempt = Post::of_client(&self.wire, &inbox, self.limits, Some(&**session));
            let probe = Probe::new();
            let request = Request::new(method, Params::none());
            let mut position = Position::default();
            let (ended, _) = attempt.run_as(request, Some(sent), probe.clone(), &mut position).await;
            let took = probe.taken_since();
            let evidence =
                ended.end(&position).map(|end| sent.evidence(&self.wire, session.as_ref(), true, false, end));
            says_lost &= evidence.is_some_and(|evidence| classify::ping(&evidence) == Ping::Lost);
            let ExchangeEnd::Head { status, headers, answer } = ended else { return None };
            if let Answer::Result(_) = answer {
                session.note_life();
                return None;
            }
            let unknown = matches!(&answer, Answer::Error { error, .. } if classify::is_unknown_method(error.code));
            if unknown && number + 1 < methods.len() {
                continue;
            }
            // One that has a page for what is not found may show it for a method as for a tool's record: both have to be refused.
            let words = answer.words(status, &headers)?;
            if refused.is_some_and(|refused| refused.words != words) {
                return None;
            }
            refused.get_or_insert(Refused { words, took });
            if !classify::may_mean_the_method(status, answer.body_end(&position), session.lifecycle()) {
                break;
            }
        }
        if says_lost && refused.is_some() {
            // Whoever asked may be gone by now.
            session.disown();
        }
        refused.map(|refused| Heard { refused, says_lost, renewals: self.wire.tokens.renewals() })
    }
}
