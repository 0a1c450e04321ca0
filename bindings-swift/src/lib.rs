//! What the Swift package calls: the core's client behind uniffi.
//!
//! This crate decides nothing. It has no default, rule, retry or status code: what the caller did not give stays `None` and is not
//! passed on, names and order are those of the core, and results and errors cross over as the JSON that the core writes. All futures of
//! the core run on a runtime of this crate ([`runtime`]); Swift only waits for what comes out of them.

mod call;
mod call_options;
mod client;
mod events;
mod hooks;
mod log;
mod options;
mod runtime;
mod words;

pub use call::{CallExtras, IdempotencyKey, NoResult, PendingCall, ProgressSink};
pub use call_options::{CallOptions, Span};
pub use client::{ConnectOutcome, NativeClient, PendingConnect, connect, connect_stdio};
pub use events::EventFeed;
pub use hooks::{EventSink, Hook, HookTask, NotificationSink, Reply};
pub use log::{LogLevel, LogSink, set_log_sink};
pub use options::{
    BackoffOption, ClientIdentityOption, ClientInfoOption, ClientOptions, HeaderOption, HttpVersionOption,
    KeepAliveOption, PingOption, ProxyOption, RetryBudgetOption,
};
pub use words::{EraOption, RecoveryOption, ResendOption, TrustAnnotationsOption};

uniffi::setup_scaffolding!();
