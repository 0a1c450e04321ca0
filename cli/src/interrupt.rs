//! Ctrl+C and its kin: the first one asks for an orderly end, the second one ends the process at once.

use std::io;

use tokio::sync::watch;

use crate::exit::Exit;

/// Tells when a signal came. Clones tell of the same one.
#[derive(Clone, Debug)]
pub(crate) struct Interrupt {
    given: watch::Receiver<Option<Exit>>,
}

impl Interrupt {
    /// Listens from now on, as long as the runtime lives.
    ///
    /// # Errors
    /// The system lets nobody listen.
    pub(crate) fn listen() -> io::Result<Self> {
        let mut signals = Signals::new()?;
        let (sender, given) = watch::channel(None);
        tokio::spawn(async move {
            let exit = signals.next().await;
            let _ = sender.send(Some(exit));
            let again = signals.next().await;
            // Whoever asks twice does not want to wait for a server that does not answer.
            std::process::exit(i32::from(again.code()));
        });
        Ok(Self { given })
    }

    /// The signal that came, if one did.
    pub(crate) fn was_given(&self) -> Option<Exit> {
        *self.given.borrow()
    }

    /// Waits for a signal. At once if there was one.
    pub(crate) async fn given(&self) -> Exit {
        let mut given = self.given.clone();
        match given.wait_for(Option::is_some).await {
            Ok(exit) => exit.unwrap_or(Exit::Interrupted),
            // The runtime is going away, and with it whoever waits here.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = self.hang_up.recv() => Exit::Terminated,
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}
