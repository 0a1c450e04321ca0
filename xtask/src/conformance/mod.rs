//! `cargo xtask conformance`: the official conformance suite of MCP, at a pinned version, against a client in each language, an official
//! client before `oncewire proxy`, and the fault server.
//!
//! | file | what it does |
//! | --- | --- |
//! | `suite.rs` | the suite, installed, and one run of it |
//! | `requirements.rs` | which scenarios there are, and which must pass |
//! | `clients.rs` | the clients, built and started |
//! | `judge.rs` | what a run is worth |
//! | `server.rs` | the fault server |
//! | `served.rs` | a server on standard input and output, behind `oncewire serve` |
//! | `table.rs` | `docs/conformance.md` |

mod clients;
mod judge;
mod requirements;
mod served;
mod server;
mod suite;
mod table;

use std::fmt;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use self::clients::Client;
use self::judge::judge;
use self::requirements::{Requirements, Scenario};
use self::suite::Suite;
use crate::test::{Target, check_toolchains};

/// The command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The scenarios of OAuth with the client in Rust only: for every check of a change
    #[arg(long)]
    quick: bool,
    /// Leave the client of this language out, for example because its toolchain is not here
    #[arg(long, value_name = "NAME")]
    skip: Vec<Target>,
    /// Only this scenario
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Write docs/conformance.md, instead of checking it
    #[arg(long)]
    write_docs: bool,
}

/// What a scenario is run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    FaultServer,
    Client(Target),
    /// An official client before `oncewire proxy`.
    Proxy,
    /// A server behind `oncewire serve`.
    Served,
}

impl fmt::Display for Side {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FaultServer => formatter.write_str("[fault server]"),
            Self::Client(language) => write!(formatter, "[{language}]"),
            Self::Proxy => formatter.write_str("[proxy]"),
            Self::Served => formatter.write_str("[serve]"),
        }
    }
}

/// What came of one scenario.
#[derive(Debug)]
struct Outcome {
    side: Side,
    revision: &'static str,
    scenario: String,
    /// How many checks came out as they must, or what is wrong.
    result: Result<usize, String>,
}

/// Runs it. `Ok(false)` means that something did not hold.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let languages: Vec<_> = Target::ALL.into_iter().filter(|language| !options.skip.contains(language)).collect();
    check_toolchains(&languages)?;
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    // When a signal comes first, what was started is dropped with the rest, which kills it.
    let (requirements, outcomes) = runtime.block_on(async {
        tokio::select! {
            ran = run_all(options, &languages) => ran,
            signal = crate::demo::told_to_stop() => {
                signal.context("cannot wait for signals")?;
                bail!("stopped by a signal")
            }
        }
    })?;
    close(options, &languages, &requirements, &outcomes)
}

async fn run_all(options: &Options, languages: &[Target]) -> Result<(Vec<Requirements>, Vec<Outcome>)> {
    let suite = Suite::install().await?;
    println!("{}", Suite::title());
    let all = Requirements::read(&suite)?;
    let wanted = |scenario: &str| options.only.as_ref().is_none_or(|only| only == scenario);
    let mut outcomes = Vec::new();
    for requirements in &all {
        let revision = requirements.revision;
        for scenario in server::scenarios(revision).iter().filter(|scenario| wanted(scenario)) {
            let started = Instant::now();
            let result = server::passes(&suite, revision, scenario).await?;
            outcomes.push(told(Side::FaultServer, revision, scenario, result, started.elapsed()));
        }
    }
    for language in languages {
        let started = Instant::now();
        let client = Client::build(*language).await?;
        println!("[{language}] the client is built ({:.1} s)", started.elapsed().as_secs_f64());
        for requirements in &all {
            let runs = |scenario: &&Scenario| {
                let is_short = !options.quick || *language == Target::Rust || !scenario.is_of_oauth();
                wanted(&scenario.name) && is_short
            };
            for scenario in requirements.scenarios.iter().filter(runs) {
                let started = Instant::now();
                let (revision, name) = (requirements.revision, &scenario.name);
                let ran = suite.play(&client, revision, name, scenario.force()).await?;
                let result = judge(&ran).map_err(|problem| format!("{problem}\n{}", ran.said));
                outcomes.push(told(Side::Client(*language), revision, name, result, started.elapsed()));
            }
        }
    }
    if !options.quick {
        match Client::behind_the_proxy().await? {
            Ok(client) => {
                for requirements in &all {
                    // A login wants a person's browser, which the suite plays inside of the client.
                    let runs = |scenario: &&Scenario| wanted(&scenario.name) && !scenario.is_of_oauth();
                    for scenario in requirements.scenarios.iter().filter(runs) {
                        let started = Instant::now();
                        let (revision, name) = (requirements.revision, &scenario.name);
                        let ran = suite.play(&client, revision, name, scenario.force()).await?;
                        let result = judge(&ran).map_err(|problem| format!("{problem}\n{}", ran.said));
                        outcomes.push(told(Side::Proxy, revision, name, result, started.elapsed()));
                    }
                }
            }
            Err(problem) => bail!("the client before the proxy: {problem}"),
        }
        let bridge = served::Served::start().await?;
        for scenario in served::SCENARIOS.into_iter().filter(|scenario| wanted(scenario)) {
            let started = Instant::now();
            let result = bridge.passes(&suite, scenario).await?;
            outcomes.push(told(Side::Served, served::REVISION, scenario, result, started.elapsed()));
        }
    }
    Ok((all, outcomes))
}

/// A line for each scenario, as it ends.
fn told(
    side: Side,
    revision: &'static str,
    scenario: &str,
    result: Result<usize, String>,
    elapsed: Duration,
) -> Outcome {
    let seconds = elapsed.as_secs_f64();
    match &result {
        Ok(checks) => println!("{side} {revision} {scenario}: {checks} checked ({seconds:.1} s)"),
        Err(problem) => println!("{side} {revision} {scenario}: WRONG ({seconds:.1} s): {problem}"),
    }
    Outcome { side, revision, scenario: scenario.to_owned(), result }
}

/// The summary, the page, and the last line.
fn close(options: &Options, languages: &[Target], all: &[Requirements], outcomes: &[Outcome]) -> Result<bool> {
    println!();
    let sides = [Side::FaultServer].into_iter().chain(Target::ALL.map(Side::Client)).chain([Side::Proxy, Side::Served]);
    for side in sides.filter(|side| outcomes.iter().any(|outcome| outcome.side == *side)) {
        let counts = all.iter().map(|requirements| counted(outcomes, side, requirements.revision)).collect::<Vec<_>>();
        println!("{:<14} {}", side.to_string(), counts.join(" | "));
    }
    for language in Target::ALL.iter().filter(|language| !languages.contains(language)) {
        println!("[{language}] was left out (--skip {language})");
    }
    let failed = outcomes.iter().filter(|outcome| outcome.result.is_err()).count();
    let (mut passed, mut failed) = (outcomes.len() - failed, failed);
    for outcome in outcomes.iter().filter(|outcome| outcome.result.is_err()) {
        println!("WRONG  {} {} {}", outcome.side, outcome.revision, outcome.scenario);
    }
    let whole = failed == 0 && languages.len() == Target::ALL.len() && options.only.is_none() && !options.quick;
    match (whole, options.write_docs) {
        (false, true) => bail!("docs/conformance.md is not written: not everything ran, and passed"),
        (false, false) => println!("docs/conformance.md was not checked: not everything ran, and passed"),
        (true, write) if page_is_kept(&table::page(all, outcomes), write)? => passed += 1,
        (true, _) => failed += 1,
    }
    println!("conformance: {passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

/// How many scenarios of a revision came out as they must.
fn counted(outcomes: &[Outcome], side: Side, revision: &str) -> String {
    let ran = outcomes.iter().filter(|outcome| outcome.side == side && outcome.revision == revision);
    let passed = ran.clone().filter(|outcome| outcome.result.is_ok()).count();
    format!("{revision}: {passed} of {} scenarios", ran.count())
}

/// Is the page as it is generated? Afterwards it is, if it is to be written.
fn page_is_kept(page: &str, write: bool) -> Result<bool> {
    let (file, committed) = (table::file()?, table::committed()?);
    if page == committed {
        return Ok(true);
    }
    if write {
        std::fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
        println!("wrote {}", file.display());
        return Ok(true);
    }
    println!(
        "WRONG  docs/conformance.md is not as it would be generated; `cargo xtask conformance --write-docs` does that:"
    );
    for line in page.lines().filter(|line| !committed.lines().any(|other| other == *line)) {
        println!("  + {line}");
    }
    for line in committed.lines().filter(|line| !page.lines().any(|other| other == *line)) {
        println!("  - {line}");
    }
    Ok(false)
}
