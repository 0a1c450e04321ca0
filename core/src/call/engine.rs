//! What a client's calls are carried out with.

use std::sync::Arc;

use super::cursors::Cursors;
use super::settings::Settings;
use crate::exchange::wire::Wire;
use crate::policy::budget::Budget;
use crate::session::cache::ResultCache;
use crate::session::router::Router;
use crate::session::sessions::Sessions;
use crate::session::tools::ToolHints;
use crate::session::twin::Twins;

/// Shared by the clones of a client and by its tasks.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) settings: Settings,
    pub(crate) wire: Arc<Wire>,
    pub(crate) router: Arc<Router>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) tools: Arc<ToolHints>,
    pub(crate) cache: Arc<ResultCache>,
    pub(crate) cursors: Cursors,
    pub(crate) budget: Budget,
    pub(crate) twins: Twins,
}
