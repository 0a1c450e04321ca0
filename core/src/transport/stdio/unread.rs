//! What of that which was written to a process nobody has read, and nobody ever will.
//!
//! A pipe outlives its readers as long as we hold the end that is written to, and the kernel tells how many bytes are left in it. If no
//! process has the other end open any more, and at least so many bytes are left as were written from the beginning of a line on, then no
//! process has read a byte of that line: it cannot have run. This is asked of Linux alone, where it is known to hold (`pipe(7)`,
//! `ioctl_pipe(2)`: `FIONREAD` on a pipe; `poll(2)`: `POLLERR` on the end that is written to once there is no reader).

/// How many bytes are left that nobody can read; none where that cannot be known.
#[cfg(target_os = "linux")]
pub(super) fn unread(stdin: &impl std::os::fd::AsFd) -> Option<u64> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let mut pipe = [PollFd::new(stdin, PollFlags::empty())];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut pipe, Some(&at_once)).ok()?;
    if !pipe[0].revents().contains(PollFlags::ERR) {
        return None;
    }
    rustix::io::ioctl_fionread(stdin).ok()
}

/// How many bytes are left that nobody can read; none where that cannot be known.
#[cfg(not(target_os = "linux"))]
pub(super) fn unread<T>(_: &T) -> Option<u64> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn it_is_known_once_there_is_no_reader() {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"one line\nanother\n").unwrap();
        assert_eq!(unread(&writer), None, "somebody may still read it");
        let mut first = [0; 9];
        reader.read_exact(&mut first).unwrap();
        let second = reader.try_clone().unwrap();
        drop(reader);
        assert_eq!(unread(&writer), None, "a child may have the same end open");
        drop(second);
        assert_eq!(unread(&writer), Some(8));
    }
}
