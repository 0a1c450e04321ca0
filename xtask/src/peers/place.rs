//! Where a server lives: its port, its ledger and its log. Servers that take turns on one port share one place.

use std::path::PathBuf;

use anyhow::Result;

use super::ledger::Ledger;
use super::process;

/// A place for one server at a time.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    name: String,
    pub(crate) port: u16,
    /// The file of the ledger.
    pub(crate) ledger: PathBuf,
    /// Where the server's output goes.
    pub(crate) log: PathBuf,
}

impl Place {
    /// A free one; `name` is for its files.
    pub(crate) fn free(name: &str) -> Result<Self> {
        let folder = super::folder()?;
        let (ledger, log) = (folder.join(format!("{name}.ledger")), folder.join(format!("{name}.log")));
        Ok(Self { name: name.to_owned(), port: process::free_port()?, ledger, log })
    }

    /// One for a replica: the same ledger, on another port.
    pub(crate) fn another(&self) -> Result<Self> {
        let log = super::folder()?.join(format!("{}.replica.log", self.name));
        Ok(Self { port: process::free_port()?, log, ..self.clone() })
    }

    /// The ledger, empty.
    pub(crate) fn open_ledger(&self) -> Result<Ledger> {
        Ledger::create(self.ledger.clone())
    }

    /// A folder for what stands before the server.
    pub(crate) fn front(&self) -> Result<PathBuf> {
        Ok(super::folder()?.join(format!("{}.front", self.name)))
    }
}
