//! Where logins are kept: four methods, behind which a file, a keychain or a host's own database may stand.

mod error;
mod file;
mod memory;

use async_trait::async_trait;

pub use self::error::{StoreError, StoreErrorKind};
pub use self::file::FileStore;
pub use self::memory::MemoryStore;

/// Where logins are kept. Keys and values are texts; a value is one JSON document that only oncewire reads, and secret as a whole.
///
/// A key names one login: it is made of the resource, the issuer, the client and the account, holds no secret, and is at most a few
/// hundred bytes long. A value may be large: several kilobytes where the tokens are JWTs.
///
/// # Errors
/// Each method fails with a [`StoreError`]; none of them makes oncewire forget a login.
#[async_trait]
pub trait LoginStore: Send + Sync + 'static {
    /// What was saved last under this key, by whichever process; `None` if nothing was, or if it was removed.
    async fn load(&self, key: &str) -> Result<Option<String>, StoreError>;

    /// Keeps the value under this key; `None` removes what is there, and is no error if there is nothing.
    ///
    /// When this returns, the value is durable: neither the end of this process nor a loss of power takes it back. It is replaced as
    /// a whole: whoever loads at the same time gets the old value or the new one.
    async fn save(&self, key: &str, value: Option<&str>) -> Result<(), StoreError>;

    /// Takes the lock of this key, which one holder has at a time, in all processes that share the store. Waits for it.
    ///
    /// A lock whose process died is free. Dropping the future gives up: then the lock is not taken, or is given back. Loading and
    /// saving need no lock.
    async fn lock(&self, key: &str) -> Result<(), StoreError>;

    /// Gives the lock of this key back. It is no error if it was not held.
    async fn unlock(&self, key: &str) -> Result<(), StoreError>;
}
