//! What a server wrote down of the tools that ran: a file of JSON lines, one when a tool begins and one when it has ended, written from
//! inside the server. It lives through the server's restarts.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

/// The gap between two looks at the file; a file in another process's hands gives no event that works everywhere.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The file.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    file: PathBuf,
}

/// How often a tool ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(crate) started: usize,
    pub(crate) ended: usize,
}

#[derive(Deserialize)]
struct Line {
    tool: String,
    event: Event,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Event {
    Start,
    End,
}

impl Ledger {
    /// An empty ledger.
    pub(crate) fn create(file: PathBuf) -> Result<Self> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&file, "").with_context(|| format!("cannot write {}", file.display()))?;
        Ok(Self { file })
    }

    /// How often this tool ran since the ledger was made.
    pub(crate) fn runs(&self, tool: &str) -> Result<Runs> {
        let text =
            std::fs::read_to_string(&self.file).with_context(|| format!("cannot read {}", self.file.display()))?;
        count(&text, tool)
    }

    /// Waits until the runs of this tool are as wanted.
    pub(crate) async fn until(&self, tool: &str, wanted: impl Fn(Runs) -> bool, patience: Duration) -> Result<Runs> {
        let deadline = Instant::now() + patience;
        loop {
            let runs = self.runs(tool)?;
            if wanted(runs) {
                return Ok(runs);
            }
            if Instant::now() > deadline {
                bail!("the server's ledger stays at {runs:?} for {tool}");
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}

fn count(text: &str, tool: &str) -> Result<Runs> {
    let mut runs = Runs::default();
    // The server may be writing: what has no line end yet is not there yet.
    let whole = text.rfind('\n').map_or("", |end| text.split_at(end).0);
    for line in whole.lines() {
        let line: Line = serde_json::from_str(line).with_context(|| format!("not a line of a ledger: {line}"))?;
        match line.event {
            _ if line.tool != tool => {}
            Event::Start => runs.started += 1,
            Event::End => runs.ended += 1,
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_and_ends_are_counted_for_one_tool() {
        let text = concat!(
            r#"{"tool":"slow","event":"start"}"#,
            "\n",
            r#"{"tool": "quick", "event": "start"}"#,
            "\n",
            r#"{"tool":"slow","event":"end"}"#,
            "\n",
            r#"{"tool":"slow","event":"sta"#,
        );
        assert_eq!(count(text, "slow").unwrap(), Runs { started: 1, ended: 1 });
        assert_eq!(count(text, "quick").unwrap(), Runs { started: 1, ended: 0 });
        assert_eq!(count("", "slow").unwrap(), Runs::default());
    }

    #[test]
    fn a_broken_line_is_an_error_and_not_a_run_that_never_was() {
        assert!(count("not json\n", "slow").is_err());
    }
}
