//! The core's `tracing` events, handed to `logging` in batches by the delivery thread.

use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::record::Record;
use crate::state::existing;

/// What the core calls its log.
const TARGET: &str = "oncewire";

/// Takes what the core logs to the queue of this process.
struct ToPython;

impl<S: Subscriber> Layer<S> for ToPython {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == TARGET && metadata.is_event()
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Some(state) = existing() else { return };
        state.queue.log(Record::of(event));
    }
}

/// Once for the process; a forked child inherits it.
pub(crate) fn install() {
    let subscriber = tracing_subscriber::registry().with(ToPython);
    // It is there already: nothing to do.
    let _ = tracing::subscriber::set_global_default(subscriber);
}
