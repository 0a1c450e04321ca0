//! A server on stdio that fails on purpose: a correct server of both eras over its pipes, and for each of its lives a script that says how that
//! one ends. What it did it notes in a file, which outlives it.

mod ledger;
mod life;
mod pipes;
mod server;

pub use self::ledger::{Note, StdioLedger};
pub use self::life::{Life, StdioScript};
pub use self::server::run;
