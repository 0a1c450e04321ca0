//! Logins in files of their owner alone.
//!
//! One file a key, in one folder. The name is a hash of the key, so it says nothing and fits every file system. A file is replaced as a
//! whole: written beside it, synced, renamed, and the folder synced, so a loss of power leaves the old login or the new one. Beside it lies
//! a lock file, which is never removed: a lock on a file that another process has replaced would exclude nobody.
//!
//! On Unix file and folder must belong to this user. Where others can read or write them, that is taken away before they are used:
//! refusing would lose the login, and unread nothing. A link in the place of a file is refused. On Windows the folder is below the profile
//! of the user, and inherits who may read there.

mod access;
mod wait;

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use etcetera::BaseStrategy;
use ring::digest::{SHA256, digest};
use tokio::task::spawn_blocking;

use super::{LoginStore, StoreError, StoreErrorKind};

/// The largest value that is kept, in bytes. Tokens of a few kilobytes are the largest seen.
const LARGEST: u64 = 1024 * 1024;

/// How long [`LoginStore::lock`] waits, unless told otherwise: as long as a person may need for a login, and more.
const LOCK_PATIENCE: Duration = Duration::from_secs(600);

/// What a process that was killed while it wrote has left behind goes after that time.
const LEFT_BEHIND: Duration = Duration::from_secs(600);

/// The ending of what is being written.
const UNFINISHED: &str = ".tmp";

/// Keeps logins in a folder, in one file each that only the user can read. Processes that are given the same folder share them.
///
/// A value may have up to 1 MiB.
pub struct FileStore {
    folder: PathBuf,
    lock_patience: Duration,
    /// The locks that are held through this store, each as long as its file is open.
    held: Mutex<HashMap<String, File>>,
}

impl fmt::Debug for FileStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FileStore").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl FileStore {
    /// Keeps them in this folder, which is made when the first login is saved. It should hold nothing else, and lie on a disk of this
    /// machine: over a network, files are not always locked.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), lock_patience: LOCK_PATIENCE, held: Mutex::default() }
    }

    /// Keeps them in the folder of this user: `oncewire/logins` in `$XDG_STATE_HOME` (`~/.local/state`), on macOS in
    /// `~/Library/Application Support`, on Windows in `%LOCALAPPDATA%`.
    ///
    /// # Errors
    /// [`StoreErrorKind::Unavailable`] if this user has no home.
    pub fn of_user() -> Result<Self, StoreError> {
        let homeless = |error: etcetera::HomeDirError| {
            StoreError::new(StoreErrorKind::Unavailable, format!("there is no folder to keep logins in: {error}"))
        };
        let strategy = etcetera::base_strategy::choose_native_strategy().map_err(homeless)?;
        // `%LOCALAPPDATA%` is where Windows keeps caches too; the other one travels with the user to other machines.
        let of_system = if cfg!(windows) { strategy.cache_dir() } else { strategy.data_dir() };
        let base = strategy.state_dir().unwrap_or(of_system);
        Ok(Self::new(base.join("oncewire").join("logins")))
    }

    /// How long [`LoginStore::lock`] waits before it fails with [`StoreErrorKind::Busy`]: ten minutes if not set.
    #[must_use]
    pub fn lock_patience(mut self, patience: Duration) -> Self {
        self.lock_patience = patience;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, File>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, key: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{}{ending}", name(key)))
    }
}

#[async_trait]
impl LoginStore for FileStore {
    async fn load(&self, key: &str) -> Result<Option<String>, StoreError> {
        let path = self.path(key, ".json");
        blocking(move || read(&path)).await
    }

    async fn save(&self, key: &str, value: Option<&str>) -> Result<(), StoreError> {
        let path = self.path(key, ".json");
        let value = value.map(str::to_owned);
        // It runs to its end, whether somebody still waits or not.
        blocking(move || match value {
            Some(value) => write(&path, &value),
            None => remove(&path),
        })
        .await
    }

    async fn lock(&self, key: &str) -> Result<(), StoreError> {
        let path: Arc<Path> = self.path(key, ".lock").into();
        let file = wait::locked(self.lock_patience, || {
            let path = Arc::clone(&path);
            blocking(move || try_lock(&path))
        })
        .await?;
        self.held().insert(key.to_owned(), file);
        Ok(())
    }

    async fn unlock(&self, key: &str) -> Result<(), StoreError> {
        let held = self.held().remove(key);
        match held {
            // Said in so many words: a child of a fork may have the file open still.
            Some(file) => {
                blocking(move || file.unlock().map_err(|error| StoreError::of_io("unlocking a login", &error))).await
            }
            None => Ok(()),
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let lost = |error| StoreError::new(StoreErrorKind::Unavailable, format!("the store did not get to it: {error}"));
    spawn_blocking(work).await.map_err(lost)?
}

/// The first half of the key's hash, in hexadecimal.
fn name(key: &str) -> String {
    let hash = digest(&SHA256, key.as_bytes());
    hash.as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |error| StoreError::of_io(&format!("{doing} {}", path.display()), &error)
}

fn read(path: &Path) -> Result<Option<String>, StoreError> {
    let reading = "reading the login in";
    let file = match access::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(reading, path)(error)),
    };
    access::for_owner_alone(&file).map_err(io_error(reading, path))?;
    let mut value = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut value).map_err(io_error(reading, path))?;
    let corrupt = |what: &str| StoreError::new(StoreErrorKind::Corrupt, format!("{} {what}", path.display()));
    match String::from_utf8(value) {
        // One that was removed is gone; an empty one is none that was written here.
        Ok(value) if value.is_empty() => Err(corrupt("is empty: it holds no login")),
        Ok(value) if value.len() as u64 > LARGEST => Err(corrupt("is larger than any login")),
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(corrupt("is no text: it holds no login")),
    }
}

fn write(path: &Path, value: &str) -> Result<(), StoreError> {
    if value.len() as u64 > LARGEST {
        let text = format!("a login of {} bytes is not kept: the limit is {LARGEST}", value.len());
        return Err(StoreError::new(StoreErrorKind::TooLarge, text));
    }
    let writing = "writing the login to";
    let folder = folder_of(path)?;
    clear(folder);
    replace(folder, path, value.as_bytes()).map_err(io_error(writing, path))
}

fn replace(folder: &Path, path: &Path, value: &[u8]) -> io::Result<()> {
    let stem = path.file_stem().unwrap_or_default();
    // Of its owner alone from the start, and removed if anything below fails.
    let mut unfinished = tempfile::Builder::new().prefix(stem).suffix(UNFINISHED).tempfile_in(folder)?;
    unfinished.write_all(value)?;
    unfinished.as_file().sync_all()?;
    unfinished.persist(path)?;
    access::sync_folder(folder)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    let removing = "removing the login in";
    match fs::remove_file(path) {
        Ok(()) => match path.parent() {
            Some(folder) => access::sync_folder(folder).map_err(io_error(removing, path)),
            None => Ok(()),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error(removing, path)(error)),
    }
}

/// The lock file, if nobody else has locked it.
fn try_lock(path: &Path) -> Result<Option<File>, StoreError> {
    let locking = "locking the login with";
    folder_of(path)?;
    let file = access::create(path).map_err(io_error(locking, path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(io_error(locking, path)(error)),
    }
}

/// The folder of a file, made if there is none.
fn folder_of(path: &Path) -> Result<&Path, StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    access::make_folder(folder).map_err(io_error("making the folder", folder))?;
    Ok(folder)
}

/// Removes what was never finished and is old. What cannot be removed stays.
fn clear(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let old = |entry: &fs::DirEntry| {
        let written = entry.metadata().and_then(|metadata| metadata.modified());
        let age = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
        age.is_some_and(|age| age > LEFT_BEHIND)
    };
    let unfinished = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().ends_with(UNFINISHED);
    for entry in entries.flatten().filter(|entry| unfinished(entry) && old(entry)) {
        let _ = fs::remove_file(entry.path());
    }
}

#[cfg(test)]
mod tests;
