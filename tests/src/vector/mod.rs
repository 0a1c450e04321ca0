//! The scenarios: what one looks like, how a file becomes single cases, and the judge.
//!
//! The format is described for writers and for the runners of the four languages in `tests/vectors/README.md`.

mod expand;
mod expect;
mod judge;
mod model;
mod partial;
mod report;

pub use self::expand::{all, expand, for_language};
pub use self::expect::{CallExpect, ErrorExpect, EventsExpect, Expect, LedgerExpect, OneOrMoreWords, Order, Table};
pub use self::judge::judge;
pub(crate) use self::judge::ledger_is;
pub use self::model::{
    Call, CallOptions, ClientOptions, ControlStep, Handlers, Language, Method, Step, ToolOptions, Vector,
};
pub use self::partial::mismatch;
pub use self::report::{Outcome, Report};
