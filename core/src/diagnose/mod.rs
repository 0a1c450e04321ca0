//! What an inspector asks of a server: single requests, and everything that came of each, with what the client makes of it.
//!
//! `oncewire doctor` stands on this. Requests go out as those of a client do, over the same connections, with the same login, headers and
//! certificates, and what their ends prove is said by [`classify`](crate::transport::classify) and by nobody else. Unlike a client a
//! [`Prober`] repeats nothing, recovers nothing and runs no tool by itself. What a server said is given without the secrets that were sent.
//!
//! This room is for inspectors, and may change with any release.

mod ask;
mod authorities;
mod heard;
mod line;
mod open;
mod prober;
mod reach;
mod told;
mod tools;

pub use ask::Ask;
pub use authorities::{Authorities, Renewal};
pub use heard::Chunk;
pub use line::Line;
pub use open::OpenStream;
pub use prober::Prober;
pub use reach::{Address, Connection, Reach, Tls};
pub use told::{RpcError, Told};
pub use tools::parameter_header_fault;
