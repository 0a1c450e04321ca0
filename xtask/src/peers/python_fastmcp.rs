//! A small server on PyPI `fastmcp` 4.x, which stands on PyPI `mcp` 2.x.

use anyhow::Result;

use super::install::{self, Installed};
use super::offers::Offers;
use super::place::Place;
use super::process::Launch;
use super::python_mcp::{self, Answers};
use super::{About, Changes, Talks};

const VERSION: &str = "4.2.3";

/// What it is called in the output.
pub(crate) fn title() -> String {
    format!("PyPI fastmcp {VERSION}")
}

/// Installs it if need be, and says how to start it.
pub(crate) async fn launch(place: &Place) -> Result<Result<Launch, String>> {
    let packages = [format!("fastmcp=={VERSION}"), format!("mcp=={}", python_mcp::V2)];
    Ok(match install::pip_all(&packages.each_ref().map(String::as_str)).await? {
        Installed::Here(folder) => Ok(python_mcp::script(place, &folder, "fastmcp_peer.py")?),
        Installed::NoInstaller(problem) => Err(problem),
    })
}

/// What is known of it.
pub(crate) fn about(title: String) -> About {
    let about = python_mcp::about(title, Answers::Streams);
    // It opens no stream for what it says unasked.
    About { offers: Offers::small(true), talks: Talks { changes: Changes::OnTheCall, ..Talks::ALL }, ..about }
}
