//! The certificates in files that the environment of a host names for all of its programs.
//!
//! Such a file is not the client's: it may be missing, hold keys and comments, or a certificate that is no root. What is of no use is
//! passed over, since a program that does not need it must not fail because of it.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use rustls::RootCertStore;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// The longest file that is read, in bytes. A bundle of all public authorities has a quarter of a million.
const LONGEST: u64 = 8 * 1024 * 1024;
/// Files of one folder that are read.
const MOST: usize = 1_024;

/// All that can be used of these files and folders.
pub(super) fn read(places: &[PathBuf]) -> Vec<CertificateDer<'static>> {
    let mut store = RootCertStore::empty();
    places
        .iter()
        .flat_map(|place| files(place))
        .filter_map(|file| pem(&file))
        .flat_map(|pem| CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok).collect::<Vec<_>>())
        .filter(|root| store.add(root.clone()).is_ok())
        .collect()
}

fn files(place: &Path) -> Vec<PathBuf> {
    match fs::read_dir(place) {
        Ok(entries) => {
            let mut files: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
            files.sort();
            files.truncate(MOST);
            files
        }
        Err(_) => vec![place.to_owned()],
    }
}

fn pem(file: &Path) -> Option<Vec<u8>> {
    // Opening a pipe would wait for its other end.
    fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let mut pem = Vec::new();
    let read = File::open(file).ok()?.take(LONGEST).read_to_end(&mut pem).ok()?;
    (u64::try_from(read).ok()? < LONGEST).then_some(pem)
}
