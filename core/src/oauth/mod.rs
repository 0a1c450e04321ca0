//! The login of a client with its server: OAuth 2.1, as MCP 2026-07-28 has it, and what came before it.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `options`, `given` | what a host says, in Rust and from the other languages |
//! | `discovery`, `addresses`, `fetch` | who gives tokens, and what may be asked of whom |
//! | `registration` | as whom the client logs in |
//! | `authorize`, `log_in`, `loopback`, `browser` | a person in a browser |
//! | `grants` | logins without a person |
//! | `token_request`, `classify` | one request to a token endpoint, and what its answer means |
//! | `refresh`, `step_up` | how a login is renewed, and widened |
//! | `record`, `store`, `login`, `stored` | how it is kept, shared by all processes of the machine, and shown |
//! | `jwt`, `proof`, `pkce`, `random` | what is signed, proved and not to be guessed |

mod addresses;
mod authorize;
mod browser;
mod classify;
mod discovery;
mod error;
mod fetch;
mod fetched;
mod given;
mod grants;
mod jwt;
mod log_in;
mod login;
mod loopback;
mod options;
mod pkce;
mod proof;
mod random;
mod record;
mod refresh;
mod registration;
mod revoke;
mod step_up;
mod store;
mod stored;
mod token_request;

#[doc(hidden)]
pub use given::Asked;
pub use options::OAuth;
pub use store::{FileStore, LoginStore, MemoryStore, StoreError, StoreErrorKind};
pub use stored::StoredLogin;

pub(crate) use discovery::discover;
pub(crate) use error::LoginError;
pub(crate) use fetch::Fetch;
pub(crate) use login::{Access, Login, LoginParts};
pub(crate) use proof::DPOP;
