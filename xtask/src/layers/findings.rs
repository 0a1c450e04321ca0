//! What is wrong, in a text that says where, what and why.

use std::fmt;
use std::path::PathBuf;

/// The rule for layers.
pub(super) const DOWNWARDS: &str = "a file imports only from its own layer and from those below it";
/// The rule for files.
pub(super) const NO_CIRCLES: &str = "files do not import each other in a circle";

/// One import that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) file: PathBuf,
    /// From 1; 0 if it is the whole file.
    pub(super) line: usize,
    /// What is imported, as it is written.
    pub(super) import: String,
    /// What is wrong with it.
    pub(super) problem: String,
    pub(super) rule: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, import, problem, rule } = self;
        write!(formatter, "{}:{line}: `{import}` {problem} ({rule})", file.display())
    }
}
