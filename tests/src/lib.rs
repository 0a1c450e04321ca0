//! The test bed of oncewire: a server that fails on purpose, and the scenarios that every language runs against it.
//!
//! - [`server`] is an MCP server over raw sockets. Without rules it is correct; a [`script`](server::Script) makes it
//!   fail in exactly the way that a scenario needs, and its [`ledger`](server::Ledger) says afterwards what arrived
//!   and what was executed. It is written without the client under test and shares no code with it.
//! - [`authorization`] makes such a server an authorization server too, or one that takes the tokens of one.
//! - [`control`] lets one process host many such servers and drives them over HTTP with JSON, for the runners in
//!   other languages.
//! - [`stdio`] is such a server on stdio: a process that ends where its script says so.
//! - [`vector`] is the format of the scenarios, their expansion into single cases, and the judge that compares what a
//!   client reported and what the ledger holds with what the scenario expects. There is one judge for all languages.

pub mod authorization;
pub mod control;
pub mod server;
pub mod stdio;
pub mod vector;
