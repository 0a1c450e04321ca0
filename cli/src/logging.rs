//! `-v`: what the core logs, on standard error.

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::prelude::*;

/// Shows the core's log: `-v` what it decides, `-vv` more, `-vvv` all of it. No line holds a secret.
pub(crate) fn install(verbosity: u8) {
    let level = match verbosity {
        0 => return,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_target(false);
    let ours = tracing_subscriber::filter::Targets::new().with_target("oncewire", level);
    // Where a host has set one already, that one gets the log.
    let _ = tracing_subscriber::registry().with(layer.with_filter(ours)).try_init();
}
