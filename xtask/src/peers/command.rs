//! `cargo xtask peers`: real servers, each in every situation of its era, and some in place of others.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::builder::PossibleValuesParser;
use tokio::task::LocalSet;

use super::recipe::Recipe;
use super::rows::{ROWS, Row, What};
use super::situations::{self, Outcome};
use super::{About, change, doctor, hosts, modern, proxies, sessions, stdio, table};

/// The longest that one server may take, with its installation.
const SERVER_LIMIT: Duration = Duration::from_secs(1_500);

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only some servers, for every check of a change
    #[arg(long)]
    quick: bool,
    /// Only these servers
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ROWS.iter().map(|row| row.name)))]
    only: Vec<String>,
    /// Have `oncewire doctor` examine the servers instead, and hold what it says to the reports that are kept
    #[arg(long)]
    doctor: bool,
    /// Write docs/servers.md, or with --doctor the reports, instead of checking them
    #[arg(long)]
    write_docs: bool,
    /// So many servers at the same time
    #[arg(long, default_value_t = 3)]
    jobs: usize,
}

impl Options {
    fn rows(&self) -> Vec<&'static Row> {
        let wanted = |row: &&Row| match (self.only.is_empty(), self.quick) {
            (false, _) => self.only.iter().any(|name| name == row.name),
            (true, true) => row.quick,
            (true, false) => true,
        };
        ROWS.iter().filter(wanted).collect()
    }
}

/// What came of one server.
enum Ran {
    Tried(Outcome),
    LeftOut(String),
}

/// Runs the servers. `Ok(false)` means that something did not hold.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    // The servers live in tasks of this thread. When a signal comes first, they are dropped with it, which kills them.
    LocalSet::new().block_on(&runtime, async {
        tokio::select! {
            held = all(options) => held,
            signal = crate::demo::told_to_stop() => {
                signal.context("cannot wait for signals")?;
                bail!("stopped by a signal")
            }
        }
    })
}

async fn all(options: &Options) -> Result<bool> {
    if options.doctor {
        return doctor::all(options.rows(), options.write_docs).await;
    }
    close(options, try_all(options).await?)
}

async fn try_all(options: &Options) -> Result<Vec<(&'static Row, Ran)>> {
    let mut waiting = options.rows().into_iter();
    let mut running = tokio::task::JoinSet::new();
    let mut done = Vec::new();
    for row in waiting.by_ref().take(options.jobs.max(1)) {
        running.spawn_local(async move { (row, try_one(row).await) });
    }
    while let Some(ended) = running.join_next().await {
        done.push(ended.context("a server's task broke off")?);
        if let Some(row) = waiting.next() {
            running.spawn_local(async move { (row, try_one(row).await) });
        }
    }
    done.sort_by_key(|(row, _)| ROWS.iter().position(|other| other.name == row.name));
    Ok(done)
}

async fn try_one(row: &'static Row) -> Ran {
    let name = row.name;
    println!("[{name}] {}", row.title());
    let started = Instant::now();
    let tried = tokio::time::timeout(SERVER_LIMIT, try_what(row)).await;
    let outcome = match tried {
        Ok(Ok(Ok(outcome))) => outcome,
        Ok(Ok(Err(problem))) => {
            println!("[{name}] left out, since {problem}");
            return Ran::LeftOut(problem);
        }
        Ok(Err(error)) => situations::broken(name, &format!("{error:#}")),
        Err(_) => situations::broken(name, "it did not end in time"),
    };
    let (passed, failed) = (outcome.passed, outcome.failed);
    println!("[{name}] {passed} passed, {failed} failed, in {:.1} s", started.elapsed().as_secs_f64());
    Ran::Tried(outcome)
}

async fn try_what(row: &'static Row) -> Result<Result<Outcome, String>> {
    match row.what {
        What::Handshake(recipe, era) => {
            on_a_server(row, recipe, recipe.about(), async |peer| situations::all(peer, row.name, era).await).await
        }
        What::Modern(recipe) => {
            on_a_server(row, recipe, recipe.modern_about(), async |peer| modern::all(peer, row.name).await).await
        }
        What::Change { from, to, ends } => change::all(row.name, from, to, ends).await,
        What::Framework(framework, era) => sessions::all(row.name, framework, era).await,
        What::Host(kind, recipe) => hosts::all(row.name, kind, recipe).await,
        What::Stdio(server) => stdio::all(row.name, server).await,
        What::Proxy(proxy, wire) => proxies::all(row.name, proxy, wire).await,
        What::Repeats(proxy, repeating) => proxies::repeated(row.name, proxy, repeating).await,
    }
}

async fn on_a_server(
    row: &'static Row,
    recipe: Recipe,
    about: About,
    all: impl AsyncFnOnce(&mut super::Peer) -> Outcome,
) -> Result<Result<Outcome, String>> {
    let mut peer = match recipe.start(about, row.name).await.context("it does not start")? {
        Ok(peer) => peer,
        Err(problem) => return Ok(Err(problem)),
    };
    let outcome = all(&mut peer).await;
    if let Err(error) = peer.end().await {
        println!("[{}] {error:#}", row.name);
    }
    Ok(Ok(outcome))
}

/// The summary, the page, and the last line.
fn close(options: &Options, ran: Vec<(&'static Row, Ran)>) -> Result<bool> {
    println!();
    for (row, ran) in &ran {
        println!("{}", summary(row, ran));
    }
    let tried: Vec<_> = ran
        .into_iter()
        .filter_map(|(row, ran)| match ran {
            Ran::Tried(outcome) => Some((row, outcome)),
            Ran::LeftOut(_) => None,
        })
        .collect();
    let mut passed: usize = tried.iter().map(|(_, outcome)| outcome.passed).sum();
    let mut failed: usize = tried.iter().map(|(_, outcome)| outcome.failed).sum();
    let committed = table::committed()?;
    let page = table::page(&committed, &tried);
    if options.write_docs {
        let file = table::file()?;
        std::fs::write(&file, page).with_context(|| format!("cannot write {}", file.display()))?;
        println!("wrote {}", file.display());
    } else if page == committed {
        passed += 1;
    } else {
        failed += 1;
        println!("WRONG  docs/servers.md is not as it would be generated; `cargo xtask peers --write-docs` does that:");
        for line in page.lines().filter(|line| !committed.lines().any(|other| other == *line)) {
            println!("  + {line}");
        }
        for line in committed.lines().filter(|line| !page.lines().any(|other| other == *line)) {
            println!("  - {line}");
        }
    }
    println!("peers: {passed} passed, {failed} failed");
    Ok(failed == 0 && passed > 0)
}

fn summary(row: &Row, ran: &Ran) -> String {
    let mut line = format!("{:<20}", row.name);
    match ran {
        Ran::LeftOut(problem) => line.push_str(&format!(" left out: {problem}")),
        Ran::Tried(outcome) => {
            for (index, situation) in row.table().situations().iter().enumerate() {
                let word = match outcome.cells.get(index) {
                    Some(cell) if cell.failed == 0 => "ok",
                    Some(_) => "WRONG",
                    None => "broke off",
                };
                line.push_str(&format!(" | {situation}: {word}"));
            }
        }
    }
    line
}
