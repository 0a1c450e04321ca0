//! `oncewire call`: one call of a tool, its arguments read as the tool's schema says, its verdict in the exit code.

mod progress;
mod schema;
pub(crate) mod words;

use std::path::PathBuf;

use clap::Args;
use oncewire::{CallToolResult, Client, Resend, Tool};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::progress::Line;
use self::schema::Schema;
use self::words::{Input, Word};
use crate::Context;
use crate::connection::{Ask, ConnectionOptions, ProcessOptions, connect, until_interrupted, word};
use crate::content::{Folder, pretty, shown};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::output::{note, print, print_foreign};

/// The most tools that an error names.
const NAMED: usize = 20;

/// The options of `oncewire call`.
#[derive(Debug, Args)]
#[command(after_long_help = ARGUMENTS)]
#[command(
    override_usage = "oncewire call [OPTIONS] <URL> <TOOL> [NAME=VALUE]...\n       oncewire call [OPTIONS] <TOOL> [NAME=VALUE]... -- <COMMAND>..."
)]
pub(crate) struct Options {
    /// The URL of the server
    url: Option<String>,

    /// The tool
    tool: Option<String>,

    /// Its arguments: NAME=VALUE, read as what the tool's schema says, or NAME:=JSON
    #[arg(value_name = "NAME=VALUE")]
    words: Vec<String>,

    /// All arguments as one JSON object; `@FILE` for what is in a file, `-` for standard input
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// Call the tool without reading its schema first: NAME=VALUE is a string then
    #[arg(long)]
    unchecked: bool,

    /// Whether repeating the call is safe after a loss that proves nothing: always, never, or default (the server's hints decide)
    #[arg(long, value_name = "WORD", value_parser = word::<Resend>)]
    resend: Option<Resend>,

    /// The key under which the server sees all attempts of the call [default: a new one]
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,

    /// Send no such key
    #[arg(long, conflicts_with = "idempotency_key")]
    no_idempotency_key: bool,

    /// Save images, audio and other files of the result in this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    #[command(flatten)]
    process: ProcessOptions,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// How arguments are typed.
const ARGUMENTS: &str = "Arguments: to=ada is read as what the tool's schema says: a string, an integer, a number, true or false, null, JSON for an array or \
an object; an array may also be given element by element (tag=a tag=b). count:=3 is JSON as it stands. text=@letter.txt is what is in a file, text=- is \
standard input, text=\\@ada is the text @ada. What does not fit is named, the exit code is 2, and the tool is not called.";

/// The arguments as far as they can be read without the schema.
enum Arguments {
    Words(Vec<Word>),
    Json(Box<RawValue>, Map<String, Value>),
}

/// Calls.
///
/// # Errors
/// Bad input, a call that failed, a signal, or an output that is closed.
pub(crate) async fn run(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let (server, first) = options.process.server(options.url.clone())?;
    let (tool, words) = placed("TOOL", first, options.tool.as_ref(), &options.words)?;
    let arguments = read(options, &words)?;
    let builder = options.connection.builder(&server, Ask::IfTerminal)?;
    let client = connect(builder, &context.interrupt).await?;
    let called = call(&client, options, &tool, &arguments, context).await;
    client.close().await;
    show(&called?, options, &tool, context)
}

/// The name of what is called, and the words behind it. Where the server is named at the end, all of them stand one place further to the front.
///
/// # Errors
/// There is no name.
pub(crate) fn placed(
    argument: &str,
    first: Option<String>,
    second: Option<&String>,
    words: &[String],
) -> Result<(String, Vec<String>), BadInput> {
    let mut all = first.into_iter().chain(second.cloned()).chain(words.iter().cloned());
    match all.next() {
        Some(name) => Ok((name, all.collect())),
        None => Err(BadInput::new(argument, "it is missing")),
    }
}

/// What is wrong with the arguments whatever the schema says is found here.
fn read(options: &Options, words: &[String]) -> Result<Arguments, BadInput> {
    let mut input = Input::default();
    let Some(text) = &options.arguments else {
        return words::read(words, &mut input).map(Arguments::Words);
    };
    if !words.is_empty() {
        return Err(BadInput::new(
            "--arguments",
            "arguments are also given as NAME=VALUE: give them the one way or the other",
        ));
    }
    let json = words::json("--arguments", input.meant("--arguments", text)?)?;
    match serde_json::from_str(json.get()) {
        Ok(members) => Ok(Arguments::Json(json, members)),
        Err(_) => Err(BadInput::new("--arguments", "it is no JSON object")),
    }
}

async fn call(
    client: &Client,
    options: &Options,
    tool: &str,
    arguments: &Arguments,
    context: &Context,
) -> Result<CallToolResult, Failure> {
    let schema = if options.unchecked {
        Schema::new(None)
    } else {
        let tools = until_interrupted(client, &context.interrupt, client.list_tools().into_future()).await?;
        Schema::new(named(&tools.items, tool).map_err(BadInput::not_called)?.input_schema.as_deref())
    };
    let text = match arguments {
        Arguments::Words(words) => schema.typed(words).map_err(BadInput::not_called)?,
        Arguments::Json(json, members) => {
            schema.check(members).map_err(BadInput::not_called)?;
            json.get().to_owned()
        }
    };
    let mut call = client.call_tool_json(tool, &text);
    if let Some(resend) = options.resend {
        call = call.resend(resend);
    }
    if let Some(key) = &options.idempotency_key {
        call = call.idempotency_key(key);
    }
    if options.no_idempotency_key {
        call = call.without_idempotency_key();
    }
    let line = Line::default();
    let called = until_interrupted(client, &context.interrupt, line.watch(call).into_future()).await;
    drop(line);
    called
}

/// The tool of this name.
fn named<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool, BadInput> {
    tools.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let mut names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).take(NAMED).collect();
        if tools.len() > NAMED {
            names.push("…");
        }
        let has = if names.is_empty() { "no tools".to_owned() } else { names.join(", ") };
        BadInput::new("TOOL", format!("the server has no tool {name:?}; it has {has}"))
    })
}

/// Shows the result.
fn show(result: &CallToolResult, options: &Options, tool: &str, context: &Context) -> Result<Exit, Failure> {
    let folder = options.output.clone().map(|path| Folder::new(path, tool));
    // What is saved is saved also where the result is written as JSON.
    let mut parts = Vec::new();
    for block in &result.content {
        parts.push(shown(block, folder.as_ref())?);
    }
    if context.json {
        print(result.raw.get())?;
    } else {
        if let Some(structured) = &result.structured_content {
            let value: Value = serde_json::from_str(structured.get()).unwrap_or_default();
            // Servers repeat it as text for clients that do not know it.
            parts.retain(|part| serde_json::from_str::<Value>(part).ok().as_ref() != Some(&value));
            parts.push(pretty(structured.get()));
        }
        if let Some(task) = &result.task {
            parts.push(pretty(task.get()));
        }
        print_foreign(&parts.join("\n"))?;
    }
    if !result.is_error {
        return Ok(Exit::Success);
    }
    if !context.json {
        note("the tool says that it failed");
    }
    Ok(Exit::ToolFailed)
}
