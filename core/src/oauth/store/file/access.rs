//! Who may read and write what a store keeps.

#[cfg(unix)]
pub(super) use self::unix::*;

#[cfg(not(unix))]
pub(super) use self::elsewhere::*;

#[cfg(unix)]
mod unix {
    use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
    use std::io::{self, ErrorKind};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::OFlags;

    /// Opens for reading; a link is not followed.
    pub(in super::super) fn open(path: &Path) -> io::Result<File> {
        named(OpenOptions::new().read(true).custom_flags(flags()).open(path))
    }

    /// Opens, and makes it for the owner alone if there is none; a link is not followed.
    pub(in super::super) fn create(path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(flags());
        let file = named(options.open(path))?;
        for_owner_alone(&file)?;
        Ok(file)
    }

    /// A pipe in the place of a file would be waited for.
    fn flags() -> i32 {
        (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed()
    }

    fn named(opened: io::Result<File>) -> io::Result<File> {
        opened.map_err(|error| match error.raw_os_error() {
            Some(code) if code == rustix::io::Errno::LOOP.raw_os_error() => {
                refused("it is a link, and is not followed")
            }
            _ => error,
        })
    }

    /// Of this user, a file, and nobody else's to read or write: that is taken away if need be.
    pub(in super::super) fn for_owner_alone(file: &File) -> io::Result<()> {
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(refused("it is no file"));
        }
        tighten(file, &metadata, 0o600)
    }

    /// Makes the folder, and those above it, if there is none; then it is this user's alone.
    pub(in super::super) fn make_folder(path: &Path) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let folder = File::open(path)?;
        let metadata = folder.metadata()?;
        tighten(&folder, &metadata, 0o700)
    }

    fn tighten(file: &File, metadata: &Metadata, mode: u32) -> io::Result<()> {
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused("it belongs to another user"));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    fn refused(why: &str) -> io::Error {
        io::Error::new(ErrorKind::PermissionDenied, why.to_owned())
    }

    /// Makes a rename in it durable.
    pub(in super::super) fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::path::Path;

    pub(in super::super) fn open(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(in super::super) fn create(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
    }

    /// The folder says who may read what is in it.
    pub(in super::super) fn for_owner_alone(_file: &File) -> io::Result<()> {
        Ok(())
    }

    pub(in super::super) fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    /// A folder cannot be opened to be synced; the file system keeps renames in its journal.
    pub(in super::super) fn sync_folder(_path: &Path) -> io::Result<()> {
        Ok(())
    }
}
