//! `docs/conformance.md`: every scenario in every language, generated.

use std::path::PathBuf;

use anyhow::Result;

use super::requirements::Requirements;
use super::suite::Suite;
use super::{Outcome, Side, served, server};
use crate::peers::everything;
use crate::test::Target;
use crate::workspace;

/// The page. Every cell must have passed.
pub(crate) fn page(all: &[Requirements], outcomes: &[Outcome]) -> String {
    let mut page = head();
    for requirements in all {
        let revision = requirements.revision;
        let required = requirements.scenarios.iter().filter(|scenario| scenario.required).count();
        page.push_str(&format!("\n## {revision}\n"));
        page.push_str(&format!("All {required} scenarios that {revision} requires pass, in each language.\n\n"));
        page.push_str("| scenario | Rust | Python | Node | Swift | proxy |\n| --- | --- | --- | --- | --- | --- |\n");
        for scenario in &requirements.scenarios {
            let note = if scenario.required { "" } else { " (not scored)" };
            page.push_str(&format!("| {}{note} |", scenario.name));
            for language in Target::ALL {
                let cell = cell(outcomes, Side::Client(language), revision, &scenario.name);
                page.push_str(&format!(" {cell} |"));
            }
            let cell = cell(outcomes, Side::Proxy, revision, &scenario.name);
            page.push_str(&format!(" {cell} |\n"));
        }
    }
    page.push_str(FAULT_SERVER);
    for requirements in all {
        for scenario in server::scenarios(requirements.revision) {
            let cell = cell(outcomes, Side::FaultServer, requirements.revision, scenario);
            page.push_str(&format!("| {} | {scenario} | {cell} |\n", requirements.revision));
        }
    }
    page.push_str(&format!(
        "
## `oncewire serve`
npm `@modelcontextprotocol/server-everything {}` on standard input and output, behind [`oncewire serve`](serve.md): the scenarios that it passes over its own HTTP, and, as the last two, those about what stands
before it here, which it does not.

| revision | scenario | checks |
| --- | --- | --- |
",
        everything::VERSION
    ));
    for scenario in served::SCENARIOS {
        let cell = cell(outcomes, Side::Served, served::REVISION, scenario);
        page.push_str(&format!("| {} | {scenario} | {cell} |\n", served::REVISION));
    }
    page
}

fn head() -> String {
    format!(
        "\
# The official conformance suite

What npm `{}`, the conformance suite of MCP itself, says of oncewire. Written by `cargo xtask conformance --write-docs` from what was seen;
`cargo xtask conformance` checks it again, and `cargo xtask conformance --quick`, which is part of every check of a change, runs those of OAuth with the client in Rust only.

Each scenario is run by itself, against a client of a few lines in each language, which uses what the package offers to everybody (`client.rs`, `client.py` and
`client.mjs` in `xtask/conformance`, and `bindings-swift/examples/Sources/Conformance`), and, but for those of OAuth, which want a browser, against an official client on standard input
and output before [`oncewire proxy`](proxy.md) (`proxy.mjs`). It counts only if at least one check succeeded, none failed, none warned, and
the client ended well: in the suite alone a client that does nothing passes some of them. The numbers are the checks that succeeded. What is not scored are extensions
of the protocol, and what the suite got later.

The suite says nothing of what this project is about: no scenario loses a session, a connection or an answer. The [scenarios of the project](../tests/vectors/README.md)
and the [real servers](servers.md) do. It tells that what goes over the wire is MCP.
",
        Suite::title(),
    )
}

const FAULT_SERVER: &str = "
## The fault server
The project's own tests run against a server that fails on demand and keeps a ledger. Where it is not told to fail it must be a correct server: the scenarios for
servers that are about what it does, in both eras.

| revision | scenario | checks |
| --- | --- | --- |
";

fn cell(outcomes: &[Outcome], side: Side, revision: &str, scenario: &str) -> String {
    let of = |outcome: &&Outcome| outcome.side == side && outcome.revision == revision && outcome.scenario == scenario;
    match outcomes.iter().find(of).map(|outcome| &outcome.result) {
        Some(Ok(1)) => "1 check".into(),
        Some(Ok(checks)) => format!("{checks} checks"),
        Some(Err(_)) | None => "-".into(),
    }
}

/// Where the page is.
pub(crate) fn file() -> Result<PathBuf> {
    Ok(workspace::root()?.join("docs").join("conformance.md"))
}

/// The page as it is committed; empty if there is none.
pub(crate) fn committed() -> Result<String> {
    workspace::page(&file()?)
}
