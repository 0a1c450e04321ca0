//! An authorization server, and the side of a resource server that asks it (OAuth 2.1, MCP authorization 2025-11-25).
//!
//! A server with the option [`authorization`](crate::server::Options::authorization) has, besides its MCP endpoint, a metadata document, and
//! `/register`, `/authorize`, `/token` and `/revoke`. `/authorize` asks nobody: it redirects at once. One with the option
//! [`protected`](crate::server::Options::protected) takes the tokens of such a server, itself or another one of the scenario, and no
//! others, and tells in its own metadata (RFC 9728) whose they are.
//!
//! Rules see these requests as any other, by `path` and `grant`, so every fault is made of the same acts: `["execute", "close"]` at
//! `/token` rotates the tokens and cuts the answer, `["close"]` cuts before, `{"respond": …}` answers with what no such server should.
//! What was asked, issued, used and refused is in the [`ledger`](AuthorizationLedger).

mod authority;
mod dpop;
mod endpoints;
mod ledger;
mod metadata;
mod options;
mod resource;
mod token;

pub(crate) use self::authority::{Authorities, Authority};
pub(crate) use self::endpoints::{Route, answer, grant, route};
pub use self::ledger::{Asked, AuthorizationLedger, Login, Registration, TokenRequest};
pub use self::options::{Authorization, KnownClient, Protected, RefreshTokens, TokenRefusal};
pub(crate) use self::resource::refuse;
