//! `oncewire doctor`: what a client can rely on with a server.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `arguments.rs` | what a person types |
//! | `run.rs` | all servers that were named, and how it ends |
//! | `examine.rs` | one server, from its address to its last DELETE |
//! | `budget.rs` | the time that is left |
//! | `reach.rs`, `certificate.rs` | the way to it |
//! | `era.rs` | which era it speaks |
//! | `session.rs` | what becomes of sessions |
//! | `streams.rs`, `events.rs` | how answers come |
//! | `limits.rs` | how much at once |
//! | `auth.rs` | who is let in |
//! | `tools.rs` | what tools say of themselves |
//! | `call.rs` | the tool that a person named |
//! | `idle.rs` | what becomes of silence |
//! | `stdio/` | a process and its pipes |
//! | `answer.rs` | an answer in short, judged by the core |
//! | `family.rs` | what a server is made with |
//! | `grade.rs` | how safe retries are |
//! | `catalog.rs` | every check: what it means, and its fix |
//! | `facts.rs`, `report.rs` | what is said |
//! | `text.rs`, `sarif.rs`, `progress.rs` | how it is said |
//! | `host_config.rs` | the servers of a host's config file |
//!
//! It judges nothing by itself: what an answer proves is said by `classify` of the core, through `oncewire::diagnose`.

mod answer;
mod arguments;
mod auth;
mod budget;
mod call;
mod catalog;
mod certificate;
mod era;
mod events;
mod examine;
mod facts;
mod family;
mod grade;
mod host_config;
mod idle;
mod limits;
mod progress;
mod reach;
mod report;
mod run;
mod sarif;
mod session;
mod stdio;
mod streams;
mod text;
mod tools;

pub(crate) use arguments::Options;
pub(crate) use run::run;
