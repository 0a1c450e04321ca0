//! What can be typed. Each command has its own options in its own file; here they stand side by side.

use clap::{Parser, Subcommand};

use crate::{call, doctor, list, login, prompt, proxy, read, serve, shells, watch};

/// An MCP client for the terminal: it never runs your tool twice without proof, never hangs on a dead stream, and recovers a lost session
/// exactly once.
#[derive(Debug, Parser)]
#[command(name = "oncewire", bin_name = "oncewire", version, max_term_width = 120, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    /// Write JSON: the result as the server sent it, or one object that says what went wrong
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Show on standard error what the client does; more often, more of it
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what a client can rely on with a server, and how safe retries are
    Doctor(doctor::Options),

    /// Show the tools, resources and prompts of a server
    List(list::Options),
    /// Call a tool
    Call(call::Options),
    /// Show what a resource holds
    Read(read::Options),
    /// Show a prompt, filled in
    Prompt(prompt::Options),
    /// Show what a server says unasked, and what becomes of the session, until Ctrl+C
    Watch(watch::Options),
    /// Log in to a server, for all programs of this user
    Login(login::Options),
    /// End the login with a server, for all programs of this user
    Logout(login::Options),
    /// Show the stored login with a server; exit code 1 if there is none that can be used
    Status(login::Options),
    /// Write the completion script of a shell
    Completions(shells::CompletionOptions),
    /// Write the pages of the manual
    Man(shells::ManOptions),
    /// Be a server on standard input and output that is the one behind the URL: for hosts that start a command
    Proxy(proxy::command::Options),
    /// Put a server on standard input and output behind Streamable HTTP, with a process for each session or one for all
    Serve(serve::command::Options),
}

/// In every help text: a script has to know them.
const EXIT_CODES: &str = "Exit codes: 0 done; 1 something on this machine went wrong, or what a doctor was asked is not so; 2 bad input, nothing was sent; 3 the call failed and did not run; \
4 the call failed and may have run; 5 the server answered with an error; 6 the tool says that it failed; 130 interrupted (Ctrl+C); 143 terminated";
