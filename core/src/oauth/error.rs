//! Why there is no login.

use std::sync::Arc;
use std::time::Duration;

use super::store::StoreError;

/// How long a failure stands that a person has to do something about: so long no second browser tab is opened for it.
const LASTING: Duration = Duration::from_secs(60);
/// How long any other failure stands.
const PASSING: Duration = Duration::from_secs(5);

/// Why there is no login. The text reaches errors, events and logs: it holds no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub(crate) struct LoginError {
    reason: Arc<str>,
    lasting: bool,
}

impl LoginError {
    /// Something stands in the way that may be gone in a moment.
    pub(crate) fn passing(reason: impl Into<String>) -> Self {
        Self { reason: reason.into().into(), lasting: false }
    }

    /// It stays so until somebody does something about it.
    pub(crate) fn lasting(reason: impl Into<String>) -> Self {
        Self { reason: reason.into().into(), lasting: true }
    }

    /// How long nobody asks again.
    pub(crate) fn stands(&self) -> Duration {
        if self.lasting { LASTING } else { PASSING }
    }

    /// The same, with what was being done before it.
    pub(crate) fn while_(self, doing: &str) -> Self {
        Self { reason: format!("{doing}: {}", self.reason).into(), ..self }
    }
}

impl From<StoreError> for LoginError {
    fn from(error: StoreError) -> Self {
        Self::passing(format!("the store of logins failed: {error}"))
    }
}
