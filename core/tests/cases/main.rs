//! Cases under paused time, over the scripted exchange: what a clock, a bound or a race decides, one concern a file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bad_messages;
mod cache;
mod clocks;
mod close;
mod dropped;
mod elsewhere;
mod era_change;
mod era_probe;
mod era_terms;
mod handlers;
mod handshake;
mod hints;
mod input_bounds;
mod input_required;
mod limits;
mod listen;
mod listener;
mod modern_calls;
mod oauth;
mod oauth_authority;
mod paging;
mod recovery;
mod restore;
mod resume;
mod retries;
mod secrets;
mod subscriptions;
mod support;
mod texts;
mod threads;
mod tokens;
mod tools_first;
mod twins;
mod verify;
