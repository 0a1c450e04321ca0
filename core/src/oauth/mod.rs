//! The login of a client: where it is kept, so that it outlives the process.

#[cfg(test)]
mod browser;
#[cfg(test)]
mod jwt;
#[cfg(test)]
mod loopback;
#[cfg(test)]
mod pkce;
#[cfg(test)]
mod random;
mod store;

pub use store::{FileStore, LoginStore, MemoryStore, StoreError, StoreErrorKind};
