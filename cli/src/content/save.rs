//! The folder that what is no text is saved in.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::PathBuf;

use crate::failure::Failure;

/// Files of one name in one folder; no more are looked at for a free number.
const FILES: u32 = 10_000;
/// The longest name, but for its number and its ending.
const LONGEST: usize = 64;

/// A folder, and the name that files in it begin with.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    name: String,
}

impl Folder {
    /// This folder, made when the first file is saved. The name is that of a tool or a resource, and may hold anything.
    pub(crate) fn new(path: PathBuf, name: &str) -> Self {
        let parts = name.split(|character: char| !character.is_ascii_alphanumeric() && !matches!(character, '_'));
        let name: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        let name: String = name.join("-").chars().take(LONGEST).collect();
        Self { path, name: if name.is_empty() { "content".to_owned() } else { name } }
    }

    /// Saves it under the next free number; never over a file that is there.
    pub(crate) fn save(&self, bytes: &[u8], media_type: &str) -> Result<PathBuf, Failure> {
        let failed = |error| Failure::Local(format!("save to {}", self.path.display()), error);
        fs::create_dir_all(&self.path).map_err(failed)?;
        for number in 1..FILES {
            let path = self.path.join(format!("{}-{number}.{}", self.name, ending(media_type)));
            match File::create_new(&path) {
                Ok(mut file) => return file.write_all(bytes).map(|()| path).map_err(failed),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(io::Error::other(format!("there are {FILES} files of that name already"))))
    }
}

/// What files of this type are called.
fn ending(media_type: &str) -> &'static str {
    let plain = media_type.split(';').next().unwrap_or_default().trim();
    match plain.to_ascii_lowercase().as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "audio/ogg" => "ogg",
        "application/pdf" => "pdf",
        "application/zip" => "zip",
        "application/json" => "json",
        "text/plain" => "txt",
        "text/html" => "html",
        "text/csv" => "csv",
        _ => "bin",
    }
}
