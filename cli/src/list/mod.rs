//! `oncewire list`: what a server has.

mod table;

use clap::{Args, ValueEnum};
use oncewire::{Client, ListResult, Prompt, Resource, ResourceTemplate, Tool};
use serde_json::Value;
use serde_json::value::RawValue;

use self::table::Table;
use crate::Context;
use crate::connection::{Ask, ConnectionOptions, ProcessOptions, connect, named_twice, until_interrupted};
use crate::exit::Exit;
use crate::failure::{BadInput, Failure};
use crate::output::{is_terminal, print, width};

/// The options of `oncewire list`.
#[derive(Debug, Args)]
#[command(
    override_usage = "oncewire list [OPTIONS] <URL> [WHAT]\n       oncewire list [OPTIONS] [WHAT] -- <COMMAND>..."
)]
pub(crate) struct Options {
    /// The URL of the server
    url: Option<String>,

    /// What to show [default: all]
    #[arg(value_enum)]
    what: Option<What>,

    #[command(flatten)]
    process: ProcessOptions,

    #[command(flatten)]
    connection: ConnectionOptions,
}

/// What a server may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// What it can do
    Tools,
    /// What can be read
    Resources,
    /// Patterns of what can be read
    Templates,
    /// Prompts to fill in
    Prompts,
    /// All that it says it has
    All,
}

/// One list, as it was asked for.
enum Listed {
    Tools(ListResult<Tool>),
    Resources(ListResult<Resource>),
    Templates(ListResult<ResourceTemplate>),
    Prompts(ListResult<Prompt>),
}

/// Lists.
///
/// # Errors
/// Bad input, a call that failed, a signal, or an output that is closed.
pub(crate) async fn run(options: &Options, context: &Context) -> Result<Exit, Failure> {
    let (server, first) = options.process.server(options.url.clone())?;
    let what = match (first, options.what) {
        (Some(word), None) => What::from_str(&word, true).map_err(|problem| BadInput::new("WHAT", problem))?,
        (Some(_), Some(_)) => {
            return Err(named_twice().into());
        }
        (None, what) => what.unwrap_or(What::All),
    };
    let builder = options.connection.builder(&server, Ask::IfTerminal)?.listen(false);
    let client = connect(builder, &context.interrupt).await?;
    let listed = until_interrupted(&client, &context.interrupt, ask(&client, what)).await;
    client.close().await;
    let listed = listed?;
    if context.json {
        print(&json(&listed, what))?;
    } else if is_terminal() {
        print(&for_person(&listed, width()))?;
    } else {
        print(&for_program(&listed))?;
    }
    Ok(Exit::Success)
}

/// Asks for what is wanted; of all, for what the server says that it has.
async fn ask(client: &Client, what: What) -> Result<Vec<Listed>, oncewire::Error> {
    let capabilities = client.capabilities().unwrap_or_default();
    let is_wanted = |one: What, capability: &str| {
        what == one || (what == What::All && capabilities.get(capability).is_some_and(Value::is_object))
    };
    let mut listed = Vec::new();
    if is_wanted(What::Tools, "tools") {
        listed.push(Listed::Tools(client.list_tools().await?));
    }
    if is_wanted(What::Resources, "resources") {
        listed.push(Listed::Resources(client.list_resources().await?));
    }
    if is_wanted(What::Templates, "resources") {
        // Many servers that have resources have never heard of templates, and say so by an error.
        match client.list_resource_templates().await {
            Err(oncewire::Error::Answered(_)) if what == What::All => {}
            templates => listed.push(Listed::Templates(templates?)),
        }
    }
    if is_wanted(What::Prompts, "prompts") {
        listed.push(Listed::Prompts(client.list_prompts().await?));
    }
    Ok(listed)
}

impl Listed {
    /// The result, with the items of all pages.
    fn raw(&self) -> &RawValue {
        match self {
            Self::Tools(list) => &list.raw,
            Self::Resources(list) => &list.raw,
            Self::Templates(list) => &list.raw,
            Self::Prompts(list) => &list.raw,
        }
    }

    /// The member of the result that holds the items, and what they are called above a table.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Tools(_) => ("tools", "Tools"),
            Self::Resources(_) => ("resources", "Resources"),
            Self::Templates(_) => ("resourceTemplates", "Resource templates"),
            Self::Prompts(_) => ("prompts", "Prompts"),
        }
    }

    fn table(&self) -> Table {
        match self {
            Self::Tools(list) => table::of_tools(&list.items),
            Self::Resources(list) => table::of_resources(&list.items),
            Self::Templates(list) => table::of_templates(&list.items),
            Self::Prompts(list) => table::of_prompts(&list.items),
        }
    }
}

/// One kind as the server sent it; of all kinds the items of each, exact.
fn json(listed: &[Listed], what: What) -> String {
    if let ([one], true) = (listed, what != What::All) {
        return one.raw().get().to_owned();
    }
    let member = |one: &Listed| {
        let name = one.names().0;
        let members: Option<std::collections::HashMap<String, Box<RawValue>>> =
            serde_json::from_str(one.raw().get()).ok();
        let items = members.and_then(|mut members| members.remove(name));
        format!("\"{name}\":{}", items.as_deref().map_or("[]", RawValue::get))
    };
    format!("{{{}}}", listed.iter().map(member).collect::<Vec<_>>().join(","))
}

/// A table of each kind, as wide as the screen.
fn for_person(listed: &[Listed], width: u16) -> String {
    let mut text = String::new();
    for one in listed {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&one.table().drawn(one.names().1, width));
    }
    if text.is_empty() { "the server says that it has no tools, no resources and no prompts".to_owned() } else { text }
}

/// A line of each item, its columns parted by tabs.
fn for_program(listed: &[Listed]) -> String {
    listed.iter().map(|one| one.table().tabbed()).collect()
}
