//! What a server says unasked on the connection of its session, where the session has one of its own: there is no stream to open for it, and it
//! ends with the session.
//!
//! Its end shows that the session is over while nobody calls. The next call then begins a new one. If somebody listens that is done at once, but
//! only after a session that stood for [`STOOD`]: a server that ends again and again is not started again and again for nobody.

use std::sync::{Arc, Weak};

use futures_util::StreamExt;

use super::Session;
use super::listener::{Doubts, Listener};
use super::recovery::STOOD;
use crate::exchange::line::Line;
use crate::rpc::message::parse_lossily;
use crate::session::router::Origin;
use crate::transport::exchange::Unasked;
use crate::vocabulary::event::{Event, EventName};
use crate::vocabulary::excerpt::printable;

/// Characters of a line that an event shows.
const SHOWN: usize = 200;

impl Listener {
    /// Hears what the server says unasked on this session, which has a line of its own; nobody waits for it.
    pub(super) fn hear(&self, sessions: Arc<dyn Doubts>, session: &Arc<Session>, line: &Arc<Line>) {
        let Some(unasked) = line.unasked() else { return };
        let (listener, line) = (self.clone(), Arc::downgrade(line));
        let (sessions, session) = (Arc::downgrade(&sessions), Arc::downgrade(session));
        drop(self.wire.background.spawn(async move { listener.hear_all(unasked, &sessions, &session, &line).await }));
    }

    async fn hear_all(
        &self,
        mut unasked: Unasked,
        sessions: &Weak<dyn Doubts>,
        session: &Weak<Session>,
        line: &Weak<Line>,
    ) {
        let Some((generation, legacy)) = session.upgrade().map(|session| (session.generation, !session.is_modern()))
        else {
            return;
        };
        let tell = |name| self.wire.events.emit(Event::of_generation(name, generation));
        if legacy {
            tell(EventName::ListenerOn);
        }
        while let Some(message) = unasked.next().await {
            let Some(session) = session.upgrade() else { break };
            match parse_lossily(&message) {
                Ok(messages) => {
                    for message in messages {
                        self.router.route(message, Origin { session: Some(&session), call: None });
                    }
                }
                Err(error) => {
                    let (shown, _) = printable(&message, SHOWN);
                    let dropped = Event::of_generation(EventName::MessageDropped, generation);
                    self.wire
                        .events
                        .emit(dropped.because(format!("the server wrote what is no message ({error}): {shown:?}")));
                }
            }
        }
        if legacy {
            let off = Event::of_generation(EventName::ListenerOff, generation);
            self.wire.events.emit(off.because("the session is over"));
        }
        if let (Some(sessions), Some(session), Some(line)) = (sessions.upgrade(), session.upgrade(), line.upgrade())
            && line.is_over()
        {
            if self.is_wanted() && line.since().elapsed() >= STOOD {
                sessions.verify_at_once(&session);
            } else {
                sessions.suspect(&session);
            }
        }
    }
}
