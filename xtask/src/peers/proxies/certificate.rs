//! A certificate for this machine alone, made anew each time.

use std::path::Path;

use anyhow::{Context as _, Result};
use rcgen::{CertifiedKey, generate_simple_self_signed};

/// A certificate that stands for itself.
pub(crate) struct Certificate {
    pem: String,
}

impl Certificate {
    /// Makes one, and puts it and its key where [`super::configuration`] says that they are.
    pub(crate) fn write(folder: &Path) -> Result<Self> {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(vec!["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        let (pem, key) = (cert.pem(), signing_key.serialize_pem());
        let files = [("certificate.pem", pem.clone()), ("key.pem", key.clone()), ("both.pem", format!("{pem}{key}"))];
        for (name, text) in files {
            let file = folder.join(name);
            std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(Self { pem })
    }

    /// What a client must trust.
    pub(crate) fn authority(&self) -> String {
        self.pem.clone()
    }
}
