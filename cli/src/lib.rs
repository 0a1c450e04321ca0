//! The command `oncewire`: what a person types, and what hosts start. It reads arguments, asks the core, and shows what came; what is
//! decided, is decided there.
//!
//! One function is behind every entry: the binary, the console script of the Python package, and the `bin` of the npm package.

#![forbid(unsafe_code)]

mod arguments;
mod call;
mod connection;
mod content;
mod doctor;
mod exit;
mod failure;
mod interrupt;
mod list;
mod logging;
mod login;
mod output;
mod prompt;
mod proxy;
mod read;
mod rpc;
mod serve;
mod shells;
mod watch;

use std::ffi::OsString;

use anstyle::{AnsiColor, Style};
use clap::Parser as _;

use self::arguments::{Arguments, Command};
use self::exit::Exit;
use self::failure::{BadInput, Failure};
use self::interrupt::Interrupt;

/// Threads that carry what is sent and received: one command has little to do at once.
const THREADS: usize = 2;

/// What every command is given.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Write JSON.
    pub(crate) json: bool,
    /// Tells of Ctrl+C.
    pub(crate) interrupt: Interrupt,
}

/// Runs the command with these arguments, the first of which is the name of the program; gives the exit code. Writes to the standard output
/// and standard error of this process, and takes its signals: SIGINT, SIGTERM and SIGHUP on Unix, Ctrl+C on Windows. A second signal ends the
/// process at once.
///
/// It makes a runtime of its own, so it must not be called from inside of one.
///
/// Codes: 0 done; 1 something on this machine went wrong; 2 bad input, nothing was sent; 3 the call failed and did not run; 4 it failed and may
/// have run; 5 the server answered with an error; 6 the tool says that it failed; 130 SIGINT; 143 SIGTERM or SIGHUP.
pub fn run<I>(arguments: I) -> u8
where
    I: IntoIterator,
    I::Item: Into<OsString>,
{
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let parsed = match Arguments::try_parse_from(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return usage(&error, arguments.iter().any(|argument| argument == "--json")),
    };
    let json = parsed.json;
    logging::install(parsed.verbose);
    let outcome = carried_out(parsed);
    outcome.unwrap_or_else(|failure| told(&failure, json)).code()
}

/// Carries it out, on a runtime of its own.
fn carried_out(parsed: Arguments) -> Result<Exit, Failure> {
    let no_runtime = |error| Failure::Local("start".to_owned(), error);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(THREADS).thread_name("oncewire").enable_all().build().map_err(no_runtime)?;
    let outcome = runtime.block_on(async {
        let interrupt = Interrupt::listen().map_err(no_runtime)?;
        let context = Context { json: parsed.json, interrupt };
        Box::pin(dispatch(parsed.command, &context)).await
    });
    // Whatever still runs waits for something that nobody waits for.
    runtime.shutdown_background();
    outcome
}

async fn dispatch(command: Command, context: &Context) -> Result<Exit, Failure> {
    match command {
        Command::Proxy(options) => proxy::command::run(options, context).await,
        Command::Serve(options) => serve::command::run(options, context).await,
        Command::Doctor(options) => Box::pin(doctor::run(&options, context)).await,
        Command::List(options) => list::run(&options, context).await,
        Command::Call(options) => call::run(&options, context).await,
        Command::Read(options) => read::run(&options, context).await,
        Command::Prompt(options) => prompt::run(&options, context).await,
        Command::Watch(options) => watch::run(&options, context).await,
        Command::Login(options) => login::log_in(&options, context).await,
        Command::Logout(options) => login::log_out(&options, context).await,
        Command::Status(options) => login::status(&options, context).await,
        Command::Completions(options) => shells::completions(&options),
        Command::Man(options) => shells::man(&options),
    }
}

/// Says what went wrong: as one JSON object on standard output, or as a line on standard error.
fn told(failure: &Failure, json: bool) -> Exit {
    if failure.is_unheard() {
        return failure.exit();
    }
    if json {
        if let Err(unheard) = output::print(&failure.to_json().to_string()) {
            return unheard.exit();
        }
    } else {
        let red = Style::new().bold().fg_color(Some(AnsiColor::Red.into()));
        output::note(&format!("{red}error:{red:#} {}", output::harmless(&failure.to_string())));
    }
    failure.exit()
}

/// What was typed cannot be read, or help was asked for.
fn usage(error: &clap::Error, json: bool) -> u8 {
    if !error.use_stderr() {
        // Help and version. Whoever closes standard output early has seen enough.
        let _ = error.print();
        return Exit::Success.code();
    }
    if json {
        let text = error.render().to_string();
        let problem = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        let argument = match error.get(clap::error::ContextKind::InvalidArg) {
            // `--timeout <DURATION>`, `[NAME=VALUE]...`
            Some(argument) => {
                let shown = argument.to_string();
                let first = shown.split_whitespace().next().unwrap_or_default();
                first.trim_end_matches("...").trim_matches(['[', ']', '<', '>']).to_owned()
            }
            None => "arguments".to_owned(),
        };
        return told(&BadInput::new(argument, problem).into(), true).code();
    }
    let _ = error.print();
    Exit::BadInput.code()
}
