//! How the parts of a client are put together.

use std::sync::Arc;

use tokio::runtime::Handle;

use super::draft::{Over, Parts, Tokens};
use crate::auth::{Source, TokenCache};
use crate::call::cursors::Cursors;
use crate::call::engine::Engine;
use crate::exchange::wire::{OfCaller, Wire};
use crate::oauth::Login;
use crate::policy::budget::Budget;
use crate::session::cache::ResultCache;
use crate::session::handshake::Handshake;
use crate::session::listener::Listener;
use crate::session::restorable::SharedRestorable;
use crate::session::router::Router;
use crate::session::sessions::Sessions;
use crate::session::subscriptions::wishes::Subscriptions;
use crate::session::terms::{Introduction, Terms};
use crate::session::tools::ToolHints;
use crate::session::twin::Twins;
use crate::transport::cookies::CookieJar;
use crate::transport::exchange::Exchange;
use crate::transport::stdio::StdioExchange;
use crate::vocabulary::background::Background;
use crate::vocabulary::counter::Counter;
use crate::vocabulary::event::{Event, EventName, EventSink};

/// The engine of a client with these parts. Connects to nothing.
pub(super) fn assemble(parts: Parts) -> Engine {
    let Parts { url, server, settings, exchange, headers, header_provider, secrets, token, handlers, observer } = parts;
    let secrets = Arc::new(secrets);
    let background = Background::new(Handle::current());
    let events = Arc::new(EventSink::new(observer, Arc::clone(&secrets), server.into()));
    let exchange: Arc<dyn Exchange> = match exchange {
        Over::Exchange(exchange) => exchange,
        Over::Process(command) => {
            let events = Arc::clone(&events);
            let stderr = move |line: String| events.emit(Event::new(EventName::ServerStderr).because(line));
            Arc::new(StdioExchange::new(command, settings.limits.max_message, Arc::new(stderr)))
        }
    };
    let source = match token {
        Tokens::None => Source::None,
        Tokens::Provider(provider) => Source::Provider(provider),
        Tokens::Login(parts) => {
            let (events, secrets) = (Arc::clone(&events), Arc::clone(&secrets));
            Source::Login(Arc::new(Login::new(*parts, url.clone(), events, secrets, background.clone())))
        }
    };
    let tokens = TokenCache::new(source, background.clone(), Arc::clone(&secrets));
    let cookies = settings.cookies.then(CookieJar::default);
    let caller = OfCaller { headers, provider: header_provider, secrets, cookies };
    let wire = Arc::new(Wire::new(exchange, url, caller, tokens, events, background));
    let tools = Arc::new(ToolHints::default());
    let cache = Arc::new(ResultCache::new(settings.cache));
    let introduction = Introduction::new(
        &settings.client_name,
        &settings.client_version,
        handlers.capabilities(),
        &settings.extensions,
    );
    let router = Arc::new(Router::new(Arc::clone(&wire), handlers, Arc::clone(&tools), Arc::clone(&cache)));
    let restorable = SharedRestorable::default();
    let listener = Listener {
        wire: Arc::clone(&wire),
        router: Arc::clone(&router),
        limits: settings.limits,
        unasked: settings.listen,
        subscriptions: Arc::new(Subscriptions::new(Arc::clone(&restorable))),
    };
    let handshake = Handshake {
        wire: Arc::clone(&wire),
        router: Arc::clone(&router),
        limits: settings.limits,
        era: settings.era,
        verdict: Arc::default(),
        trouble: Arc::default(),
        terms: Arc::new(Terms::new(&introduction, Arc::clone(&restorable))),
        introduction,
        timeout: settings.handshake_timeout,
        connect_patience: settings.connect_patience,
        retry_after_max: settings.retry_after_max,
        delete_timeout: settings.close_timeout,
        backoff: settings.backoff,
        twins: Counter::default(),
    };
    let twins = handshake.twins.clone();
    let sessions = Arc::new(Sessions::new(handshake, listener, restorable, settings.recovery));
    let budget = Budget::new(settings.budget);
    let twins = Twins::new(Arc::clone(&wire), Arc::clone(&router), settings.limits, twins);
    Engine { settings, wire, router, sessions, tools, cache, cursors: Cursors::default(), budget, twins }
}
