//! How many logins are lost when processes share one: oncewire, and three official clients with file stores.
//!
//! In a trial a client logs in, its token expires, and N processes that share the login ask for a tool at the same moment, against an
//! authorization server that rotates refresh tokens and ends a login when one is used twice (RFC 9700, section 4.14.2). Something goes wrong
//! meanwhile: see `fault`. Then the fault is over, the N processes are started again, and the login is *lost* if one more process would
//! have to ask a person.
//!
//! The stores of the other clients are in `xtask/logins`: one file, replaced as a whole. They have no lock, for nothing in these clients
//! asks a store for one, but rmcp, whose default is none.

mod client;
mod fault;
mod process;
mod trial;

use anyhow::{Result, bail};
use clap::Args;

use self::client::Client;
use self::fault::Fault;
use self::process::Launch;
use self::trial::First;

#[derive(Args)]
pub(crate) struct Options {
    /// oncewire alone, 2 and 8 processes, one trial of each
    #[arg(long)]
    quick: bool,
    /// How many processes share the login, in the place of 1, 2, 8 and 32
    #[arg(long, value_delimiter = ',')]
    processes: Vec<usize>,
    /// How many trials of each kind
    #[arg(long, default_value_t = 3)]
    trials: usize,
    /// Only these clients
    #[arg(long, value_enum, value_delimiter = ',')]
    client: Vec<Client>,
    /// Only these faults
    #[arg(long, value_enum, value_delimiter = ',')]
    fault: Vec<Fault>,
}

/// Whether oncewire lost none that a client can keep.
pub(crate) fn run(options: &Options) -> Result<bool> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(Box::pin(all(options)))
}

async fn all(options: &Options) -> Result<bool> {
    let clients = match (options.client.as_slice(), options.quick) {
        ([], true) => vec![Client::Oncewire],
        ([], false) => Client::ALL.to_vec(),
        (some, _) => some.to_vec(),
    };
    let processes = match (options.processes.as_slice(), options.quick) {
        ([], true) => vec![2, 8],
        ([], false) => vec![1, 2, 8, 32],
        (some, _) => some.to_vec(),
    };
    let trials = if options.quick { 1 } else { options.trials.max(1) };
    let faults = if options.fault.is_empty() { Fault::ALL.to_vec() } else { options.fault.clone() };
    let (mut kept, mut of_ours) = (true, 0);
    for client in clients {
        let launch = match client.launch().await? {
            Ok(launch) => launch,
            Err(why) if client == Client::Oncewire => bail!("{why}"),
            Err(why) => {
                println!("\n{}: left out: {why}", client.title());
                continue;
            }
        };
        println!("\n{}", client.title());
        let heads = processes.iter().map(|n| if *n == 1 { "1 process".to_owned() } else { format!("{n} processes") });
        println!(
            "| what goes wrong | {} |\n|{}",
            heads.collect::<Vec<_>>().join(" | "),
            " --- |".repeat(processes.len() + 1)
        );
        for fault in &faults {
            let mut cells = Vec::new();
            for processes in &processes {
                let (cell, as_wanted) = Box::pin(several(&launch, *fault, *processes, trials)).await?;
                kept &= as_wanted || client != Client::Oncewire;
                of_ours += if client == Client::Oncewire { trials } else { 0 };
                cells.push(cell);
            }
            println!("| {} | {} |", fault.title(), cells.join(" | "));
        }
        let mut cells = Vec::new();
        for processes in &processes {
            let First { tabs, registrations, failed } = Box::pin(trial::first(&launch, *processes)).await?;
            kept &= client != Client::Oncewire || (tabs, registrations, failed) == (1, 1, 0);
            cells.push(format!("{tabs} tabs, {registrations} registrations, {failed} failed"));
        }
        println!("| nobody has logged in yet | {} |", cells.join(" | "));
    }
    let verdict = if kept { "none was lost that a client can keep" } else { "some were LOST" };
    println!("\nlogins: {of_ours} trials of oncewire, {verdict}");
    Ok(kept)
}

/// Some trials of one kind, as a cell of the table, and whether they went as they have to for oncewire.
async fn several(launch: &Launch, fault: Fault, processes: usize, trials: usize) -> Result<(String, bool)> {
    let (mut lost, mut told, mut asked) = (0, 0, 0);
    for _ in 0..trials {
        let outcome = Box::pin(trial::run(launch, fault, processes)).await?;
        lost += usize::from(outcome.lost);
        told += usize::from(outcome.lost && outcome.told);
        asked += outcome.asked;
    }
    let mut cell = format!("{lost} of {trials} lost");
    if told > 0 {
        cell.push_str(&format!(", {told} with the reason"));
    }
    if asked > 0 {
        cell.push_str(&format!(", {asked} would ask for a login"));
    }
    // A login that no client can keep has to be told as that.
    Ok((cell, lost == if fault.can_be_survived() { 0 } else { told }))
}
