//! The commands of the oncewire workspace: `cargo xtask test`, `demo`, `peers`, `conformance` and `cargo xtask swift`.

mod bench;
mod conformance;
mod demo;
#[cfg(test)]
mod layers;
mod logins;
mod peers;
mod record;
mod swift;
mod test;
mod wheel;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about = "The commands of the oncewire workspace")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the tests of one part of the workspace, of several, or of all
    Test(test::Options),
    /// Show a client that lives through a restart, a cut connection and a dead stream
    Demo(demo::Options),
    /// Put real servers through restarts, kills and cut connections
    Peers(peers::Options),
    /// Run the official conformance suite against a client in each language, and against the fault server
    Conformance(conformance::Options),
    /// Count the logins that are lost when processes share one, for oncewire and three official clients
    Logins(logins::Options),
    /// Run the command oncewire on a terminal, and keep the picture of the README
    Record(record::Options),
    /// Measure calls per second, recovery, errors and memory against a bare HTTP loop and another client
    Bench(bench::Options),
    /// Build what the Swift package links, and check its generated sources
    Swift(swift::Options),
    /// Build the release wheel of the Python package and its source distribution, and try both
    Wheel(wheel::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test(options) => test::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Peers(options) => peers::run(&options),
        Command::Conformance(options) => conformance::run(&options),
        Command::Logins(options) => logins::run(&options),
        Command::Record(options) => record::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Swift(options) => swift::run(&options),
        Command::Wheel(options) => wheel::run(&options),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
