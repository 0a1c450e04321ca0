//! The login of a client: where it is kept, so that it outlives the process.

mod store;

pub use store::{LoginStore, MemoryStore, StoreError, StoreErrorKind};
