//! `oncewire read`: what a resource holds.

use std::path::PathBuf;

use clap::Args;
use oncewire::ReadResourceResult;
use serde_json::Value;

use crate::Context;
use crate::call::placed;
use crate::connection::{Ask, ConnectionOptions, ProcessOptions, connect, named_twice, until_interrupted};
use crate::content::{Folder, decoded, shown_resource};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{is_terminal, print, print_bytes, print_foreign};

/// The options of `oncewire read`.
#[derive(Debug, Args)]
#[command(override_usage = "oncewire read [OPTIONS] <URL> <URI>\n       oncewire read [OPTIONS] <URI> -- <COMMAND>...")]
pub(crate) struct Options {
    /// The URL of the server
    url: Option<String>,

    /// The URI of the resource
    uri: Option<String>,

    /// Save what is no text in this folder [default: to standard output, where that is no terminal]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,

    #[command(flatten)]
    process: ProcessOptions,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// Reads.
///
/// # Errors
/// Bad input, a call that failed, a signal, or an output that is closed.
pub(crate) async fn run(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let (server, first) = options.process.server(options.url.clone())?;
    let (uri, more) = placed("URI", first, options.uri.as_ref(), &[])?;
    if !more.is_empty() {
        return Err(named_twice().into());
    }
    let builder = options.connection.builder(&server, Ask::IfTerminal)?.listen(false);
    let client = connect(builder, &context.interrupt).await?;
    let call = client.read_resource(&uri).into_future();
    let read = until_interrupted(&client, &context.interrupt, call).await;
    client.close().await;
    let read = read?;
    let folder = options.output.clone().map(|path| Folder::new(path, &uri));
    if context.json {
        if folder.is_some() {
            texts(&read, folder.as_ref())?;
        }
        print(read.raw.get())?;
    } else if let Some(bytes) = only_blob(&read).filter(|_| folder.is_none() && !is_terminal()) {
        print_bytes(&bytes)?;
    } else {
        print_foreign(&texts(&read, folder.as_ref())?.join("\n"))?;
    }
    Ok(Exit::Success)
}

fn texts(read: &ReadResourceResult, folder: Option<&Folder>) -> Result<Vec<String>, Failure> {
    read.contents.iter().map(|one| shown_resource(one, folder)).collect()
}

/// The bytes, if the resource is one file that is no text.
fn only_blob(read: &ReadResourceResult) -> Option<Vec<u8>> {
    match read.contents.as_slice() {
        [one] if one.get("text").is_none() => one.get("blob").and_then(Value::as_str).and_then(decoded),
        _ => None,
    }
}
