//! The sessions as they ship, between a handshake, a ping and a runtime that do what a scenario says.

#[path = "../../src/session/recovery.rs"]
mod recovery;
#[path = "../../src/session/sessions.rs"]
#[allow(dead_code, unreachable_pub, reason = "what ships has more uses than the scenarios")]
pub(crate) mod sessions;

#[path = "../../src/session/state.rs"]
#[allow(dead_code, unreachable_pub, reason = "what ships has more uses than the scenarios")]
pub(crate) mod state;

use std::sync::Arc;

use shuttle::rand::Rng;
use shuttle::sync::atomic::{AtomicU32, Ordering};
use tokio_util::sync::CancellationToken;

use crate::locks;
use crate::protocol::era::Lifecycle;
use crate::protocol::results::InitializeResult;
use crate::record::Record;

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) generation: u64,
    initialized: Arc<InitializeResult>,
    gone: CancellationToken,
    retired: CancellationToken,
    refusals: AtomicU32,
    record: Arc<Record>,
}

impl Session {
    fn new(generation: u64, record: &Arc<Record>) -> Self {
        record.session_began();
        Self {
            generation,
            initialized: Arc::new(InitializeResult),
            gone: CancellationToken::new(),
            retired: CancellationToken::new(),
            refusals: AtomicU32::new(0),
            record: Arc::clone(record),
        }
    }

    fn lifecycle(&self) -> Lifecycle {
        Lifecycle::Legacy
    }

    fn declare_gone(&self) {
        self.gone.cancel();
    }

    /// There is no DELETE here.
    fn disown(&self) {}

    fn note_refusal(&self) -> u32 {
        self.refusals.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Either, as it is drawn: what other calls and streams do is another matter.
    fn shows_life(&self) -> bool {
        shuttle::rand::thread_rng().gen_bool(0.5)
    }

    fn retire(&self) {
        self.retired.cancel();
    }

    fn retired(&self) -> &CancellationToken {
        &self.retired
    }

    fn end(&self) {}

    /// Its connection is not its own.
    fn stood(&self) -> Option<std::time::Duration> {
        None
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.record.session_ended();
    }
}

pub(crate) mod handshake {
    use std::sync::Arc;
    use std::time::Duration;

    use shuttle::rand::Rng;
    use shuttle::sync::atomic::{AtomicBool, Ordering};
    use tokio::sync::oneshot;
    use tokio_util::sync::CancellationToken;

    use super::Session;
    use crate::policy::backoff::BackoffBounds;
    use crate::record::Record;
    use crate::vocabulary::background::Background;
    use crate::vocabulary::outcome::Kind;

    /// How the flights of a scenario end.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Flights {
        Land,
        Fail,
        /// Each as it is drawn.
        Either,
    }

    /// What a scenario says of flights and pings.
    #[derive(Clone, Debug)]
    pub(crate) struct Script {
        pub(crate) flights: Flights,
        /// Flights wait for this, if it is there.
        pub(crate) flight_gate: Option<CancellationToken>,
        /// Pings wait for this, if it is there.
        pub(crate) ping_gate: Option<CancellationToken>,
    }

    impl Script {
        pub(crate) fn lists_may_have_changed(&self) {}
    }

    #[derive(Debug)]
    pub(crate) struct Wire {
        pub(crate) events: Arc<Record>,
        pub(crate) background: Spawner,
    }

    /// The background tasks as they ship, on a runtime that can be shut down: then what is spawned is dropped on the spot.
    #[derive(Debug)]
    pub(crate) struct Spawner {
        pub(crate) background: Background,
        pub(crate) runtime_is_down: AtomicBool,
    }

    impl Spawner {
        pub(crate) fn spawn<F>(&self, future: F) -> oneshot::Receiver<F::Output>
        where
            F: Future + Send + 'static,
            F::Output: Send + 'static,
        {
            if self.runtime_is_down.load(Ordering::SeqCst) {
                drop(future);
                return oneshot::channel().1;
            }
            self.background.spawn(future)
        }

        pub(crate) fn closing(&self) -> &CancellationToken {
            self.background.closing()
        }
    }

    #[derive(Clone, Debug)]
    pub(crate) struct Handshake {
        pub(crate) wire: Arc<Wire>,
        pub(crate) router: Script,
        pub(crate) limits: Limits,
        pub(crate) backoff: BackoffBounds,
    }

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Limits;

    #[derive(Clone, Debug)]
    #[allow(dead_code, reason = "what ships fills them in")]
    pub(crate) struct FlightFailure {
        pub(crate) kind: Kind,
        pub(crate) reason: String,
        pub(crate) http_status: Option<u16>,
        pub(crate) excerpt: Option<String>,
        pub(crate) retry_after: Option<Duration>,
        pub(crate) source: Option<Arc<dyn std::error::Error + Send + Sync>>,
        pub(crate) may_pass: bool,
    }

    impl Handshake {
        pub(crate) async fn fly(&self, generation: u64) -> Result<Session, FlightFailure> {
            let record = &self.wire.events;
            let _flying = record.flying();
            let session = Session::new(generation, record);
            let number = record.sessions();
            if let Some(gate) = &self.router.flight_gate {
                gate.cancelled().await;
            }
            shuttle::future::yield_now().await;
            let lands = match self.router.flights {
                Flights::Land => true,
                Flights::Fail => false,
                Flights::Either => shuttle::rand::thread_rng().gen_bool(0.5),
            };
            if lands { Ok(session) } else { Err(failure(number)) }
        }
    }

    fn failure(number: usize) -> FlightFailure {
        FlightFailure {
            kind: Kind::Protocol,
            reason: number.to_string(),
            http_status: None,
            excerpt: None,
            retry_after: None,
            source: None,
            may_pass: false,
        }
    }
}

pub(crate) mod listener {
    use std::sync::Arc;

    use super::Session;
    use super::sessions::Sessions;

    /// There is none here: nobody waits for it.
    #[derive(Clone, Debug)]
    pub(crate) struct Listener;

    impl Listener {
        pub(super) fn begin(&self, _sessions: Arc<Sessions>, _session: &Arc<Session>) {}
    }
}

mod restorable {
    use std::sync::Arc;

    use crate::locks::Mutex;

    #[derive(Clone, Debug, Default)]
    pub(crate) struct Restorable;

    pub(crate) type SharedRestorable = Arc<Mutex<Restorable>>;
}

mod restore {
    use std::sync::Arc;

    use super::Session;
    use super::handshake::Handshake;
    use super::restorable::SharedRestorable;

    /// Nobody waits for it.
    pub(super) fn restore(_handshake: &Handshake, _session: &Arc<Session>, _restorable: &SharedRestorable) {}
}

mod verify {
    use std::sync::Arc;

    use shuttle::rand::Rng;

    use super::Session;
    use super::handshake::{Limits, Script, Wire};

    pub(super) async fn verify(_wire: &Wire, script: &Script, _limits: Limits, session: &Arc<Session>) -> bool {
        if let Some(gate) = &script.ping_gate {
            gate.cancelled().await;
        }
        shuttle::future::yield_now().await;
        let alive = shuttle::rand::thread_rng().gen_bool(0.5);
        if !alive {
            session.declare_gone();
        }
        alive
    }
}
