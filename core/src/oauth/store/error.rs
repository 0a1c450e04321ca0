//! What a store fails with.

use std::io;

/// What went wrong in a store. Each is a reason to keep the login and to tell; none says that the login is bad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// There is no such store here, or it does not answer: no keychain service, no home folder, a database that is away.
    Unavailable,
    /// The keychain is locked, and its owner has to open it.
    Locked,
    /// The disk, or the quota of the user, is full.
    Full,
    /// This user may not read or write there, or others may.
    Permission,
    /// What is stored is not what a store writes.
    Corrupt,
    /// The value is larger than the store takes.
    TooLarge,
    /// Somebody else holds the lock for longer than the store waits.
    Busy,
    /// Anything else; the text says what.
    Other,
}

/// Why a store did not do what it was asked to. The text says where and why; it holds no value, and no key but as a hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct StoreError {
    kind: StoreErrorKind,
    text: String,
}

impl StoreError {
    /// An error of this kind. The text reaches errors and logs: it must hold no secret.
    pub fn new(kind: StoreErrorKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// What went wrong.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// What the operating system said about `doing`, in the kind that fits.
    pub(super) fn of_io(doing: &str, error: &io::Error) -> Self {
        Self::new(kind_of(error), format!("{doing}: {error}"))
    }
}

fn kind_of(error: &io::Error) -> StoreErrorKind {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreErrorKind::Permission,
        io::ErrorKind::FileTooLarge => StoreErrorKind::TooLarge,
        // A file system that cannot lock; a folder that cannot be.
        io::ErrorKind::Unsupported | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            StoreErrorKind::Unavailable
        }
        _ => StoreErrorKind::Other,
    }
}
