//! Why there is no token, and for how long that stands.

use std::sync::Arc;
use std::time::Duration;

use crate::oauth::LoginError;

/// How long a failure of the provider stands. Many calls see one token refused, one after the other.
const FAILURE_STANDS: Duration = Duration::from_secs(5);

/// Why there is no token.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum TokenError {
    /// The function of the host gave none.
    #[error("the token provider failed: {0}")]
    Provider(Arc<str>),
    /// The login gave none.
    #[error("there is no login: {0}")]
    Login(LoginError),
    /// A person is waited for, and the host does not want calls to wait.
    #[error("there is no login yet: somebody has to log in first, and is asked to (event login_needed)")]
    Waits,
}

impl TokenError {
    pub(super) fn closed() -> Self {
        Self::Provider("the client was closed".into())
    }

    /// How long it stands.
    pub(super) fn stands(&self) -> Duration {
        match self {
            Self::Provider(_) | Self::Waits => FAILURE_STANDS,
            Self::Login(error) => error.stands(),
        }
    }
}
