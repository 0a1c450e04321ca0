//! `oncewire prompt`: a prompt, filled in.

use std::path::PathBuf;

use anstyle::Style;
use clap::Args;
use oncewire::Prompt;
use serde_json::{Map, Value};

use crate::Context;
use crate::call::placed;
use crate::call::words::{self, Given, Input};
use crate::connection::{Ask, ConnectionOptions, ProcessOptions, connect, until_interrupted};
use crate::content::{Folder, shown};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::output::{first_line, harmless, is_terminal, print, styled};

/// The options of `oncewire prompt`.
#[derive(Debug, Args)]
#[command(
    override_usage = "oncewire prompt [OPTIONS] <URL> <NAME> [NAME=VALUE]...\n       oncewire prompt [OPTIONS] <NAME> [NAME=VALUE]... -- <COMMAND>..."
)]
pub(crate) struct Options {
    /// The URL of the server
    url: Option<String>,

    /// The prompt
    name: Option<String>,

    /// Its arguments, each a text; `NAME=@FILE` for what is in a file, `NAME=-` for standard input
    #[arg(value_name = "NAME=VALUE")]
    words: Vec<String>,

    /// Save images, audio and other files of the prompt in this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    #[command(flatten)]
    process: ProcessOptions,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// Gets it.
///
/// # Errors
/// Bad input, a call that failed, a signal, or an output that is closed.
pub(crate) async fn run(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let (server, first) = options.process.server(options.url.clone())?;
    let (name, words) = placed("NAME", first, options.name.as_ref(), &options.words)?;
    let arguments = read(&words)?;
    let builder = options.connection.builder(&server, Ask::IfTerminal)?.listen(false);
    let client = connect(builder, &context.interrupt).await?;
    let got = async {
        let prompts = until_interrupted(&client, &context.interrupt, client.list_prompts().into_future()).await?;
        check(&prompts.items, &name, &arguments).map_err(BadInput::not_called)?;
        let call = client.get_prompt(&name, Value::Object(arguments));
        until_interrupted(&client, &context.interrupt, call.into_future()).await
    }
    .await;
    client.close().await;
    let got = got?;
    let folder = options.output.clone().map(|path| Folder::new(path, &name));
    let mut parts = Vec::new();
    for message in &got.messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let content = shown(message.get("content").unwrap_or(&Value::Null), folder.as_ref())?;
        let content = if is_terminal() { harmless(&content) } else { content };
        parts.push(format!("{} {content}", styled(&format!("{}:", first_line(role)), Style::new().bold())));
    }
    print(if context.json { got.raw.get().to_owned() } else { parts.join("\n") }.as_str())?;
    Ok(Exit::Success)
}

/// The arguments; each is a text.
fn read(typed: &[String]) -> Result<Map<String, Value>, BadInput> {
    let mut arguments = Map::new();
    for word in words::read(typed, &mut Input::default())? {
        let Given::Text(text) = word.given else {
            return Err(BadInput::new(word.name, "the arguments of a prompt are texts: write NAME=VALUE"));
        };
        if arguments.insert(word.name.clone(), text.into()).is_some() {
            return Err(BadInput::new(word.name, "it is given more than once"));
        }
    }
    Ok(arguments)
}

/// Is there such a prompt, does it know all arguments, and does it have all that it must have?
fn check(prompts: &[Prompt], name: &str, arguments: &Map<String, Value>) -> Result<(), BadInput> {
    let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) else {
        let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
        return Err(BadInput::new("NAME", format!("the server has no prompt {name:?}; it has {}", names.join(", "))));
    };
    if let Some(unknown) = arguments.keys().find(|name| prompt.arguments.iter().all(|one| one.name != **name)) {
        let takes: Vec<&str> = prompt.arguments.iter().map(|one| one.name.as_str()).collect();
        let takes = if takes.is_empty() { "none".to_owned() } else { takes.join(", ") };
        return Err(BadInput::new(unknown.as_str(), format!("the prompt has no such argument; it takes {takes}")));
    }
    match prompt.arguments.iter().find(|one| one.required && !arguments.contains_key(&one.name)) {
        Some(missing) => Err(BadInput::new(missing.name.as_str(), "it is missing")),
        None => Ok(()),
    }
}
