//! The core's log lines (`tracing`), forwarded to one sink of the process.
//!
//! The library brings its own copy of `tracing`, so being its only subscriber takes nothing from the host. Without a sink nothing is
//! formatted.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Once, PoisonError, RwLock};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// How much a line matters.
#[derive(Clone, Copy, Debug, uniffi::Enum)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something that is worth a look.
    Warn,
    /// What one would want to know later.
    Info,
    /// What happens in detail.
    Debug,
    /// Everything.
    Trace,
}

impl LogLevel {
    const fn rank(self) -> u8 {
        match self {
            Self::Error => 1,
            Self::Warn => 2,
            Self::Info => 3,
            Self::Debug => 4,
            Self::Trace => 5,
        }
    }

    fn of(metadata: &Metadata<'_>) -> Self {
        match *metadata.level() {
            tracing::Level::ERROR => Self::Error,
            tracing::Level::WARN => Self::Warn,
            tracing::Level::INFO => Self::Info,
            tracing::Level::DEBUG => Self::Debug,
            tracing::Level::TRACE => Self::Trace,
        }
    }
}

/// Where log lines go.
#[uniffi::export(foreign)]
pub trait LogSink: Send + Sync {
    /// One line: its fields are a JSON object; must not block.
    fn log(&self, level: LogLevel, target: String, fields: String);
}

/// The highest rank that is wanted; 0: none.
static WANTED: AtomicU8 = AtomicU8::new(0);
/// The sink with its own rank: a line that was let in for the sink before must not come to this one.
static SINK: RwLock<Option<(u8, Arc<dyn LogSink>)>> = RwLock::new(None);

/// Forwards lines up to this level to this sink, or none at all.
#[uniffi::export]
pub fn set_log_sink(sink: Option<Arc<dyn LogSink>>, level: LogLevel) {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        // Fails only if this copy of tracing has a subscriber, which nobody else can give it.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Forward));
    });
    WANTED.store(if sink.is_some() { level.rank() } else { 0 }, Ordering::Relaxed);
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink.map(|sink| (level.rank(), sink));
    tracing::callsite::rebuild_interest_cache();
}

fn wanted(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("oncewire") && LogLevel::of(metadata).rank() <= WANTED.load(Ordering::Relaxed)
}

struct Forward;

impl<S: Subscriber> Layer<S> for Forward {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if wanted(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        wanted(metadata)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        let sink = SINK.read().unwrap_or_else(PoisonError::into_inner).clone();
        let Some((_, sink)) = sink.filter(|(rank, _)| LogLevel::of(metadata).rank() <= *rank) else { return };
        let mut fields = Fields::default();
        event.record(&mut fields);
        sink.log(LogLevel::of(metadata), metadata.target().to_owned(), Value::Object(fields.0).to_string());
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}
