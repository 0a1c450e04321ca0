//! The 2026-07-28 lifecycle: no handshake, no session, and everything that a request needs in itself.

mod admission;
mod asking;
mod listening;
mod params;
mod result;

pub(super) use self::admission::{MISSING_CAPABILITY, refuse, refuse_legacy, status};
pub use self::asking::{Asking, Round};
pub(super) use self::asking::{Turn, is_leg, turn};
pub(super) use self::listening::Subscription;
pub(super) use self::params::given as param_headers;
pub use self::result::Keep;
pub(super) use self::result::{discovered, dress};

/// The version.
pub(crate) const VERSION: &str = "2026-07-28";

/// `_meta`: the version of this request.
pub(crate) const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta`: what the client can do.
pub(crate) const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// `_meta` of a result: who answers.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// `_meta` of what a subscription delivers: the id of the request that opened it.
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
