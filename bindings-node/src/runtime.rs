//! The one tokio runtime of this addon, made when it is first needed.
//!
//! It is shared by all clients of all threads of the process and is never stopped: a worker thread of Node may end while another goes
//! on, and what a client still has to send (the DELETE of its session) must not end with the thread that used it.

use std::sync::LazyLock;

use tokio::runtime::{Builder, Handle, Runtime};

/// Two threads carry thousands of calls a second, and leave the other cores to the host.
const THREADS: usize = 2;

static RUNTIME: LazyLock<std::io::Result<Runtime>> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(THREADS).thread_name("oncewire").enable_all().build());

/// # Errors
/// The system gives no threads.
pub(crate) fn handle() -> napi::Result<&'static Handle> {
    match &*RUNTIME {
        Ok(runtime) => Ok(runtime.handle()),
        Err(error) => Err(napi::Error::from_reason(format!("no runtime: {error}"))),
    }
}
