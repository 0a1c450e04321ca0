//! The servers of a host's config file: the member `mcpServers` that most hosts have, or `servers` as some call it. Values of headers
//! and of the environment are read, and never shown.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::stdio::Program;
use crate::connection::value::text_of;
use crate::failure::BadInput;

const ARGUMENT: &str = "--config";

/// One server of the file.
pub(super) struct Entry {
    pub(super) name: Option<String>,
    pub(super) what: What,
}

/// How it is spoken to.
pub(super) enum What {
    /// As it was typed, with the options for connections.
    Given { url: String },
    /// Of the file.
    Url { url: String, headers: BTreeMap<String, String> },
    /// A process.
    Command(Program),
    /// It names neither, or a variable that is not set: this is why it is of no use.
    Unusable(String),
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "mcpServers", alias = "servers", default)]
    servers: BTreeMap<String, Server>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Server {
    #[serde(alias = "serverUrl", alias = "httpUrl")]
    url: Option<String>,
    headers: BTreeMap<String, String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    disabled: bool,
}

/// The servers of this file that are not switched off, by name.
///
/// # Errors
/// What is wrong with the file, without a word of its content.
pub(super) fn read(path: &Path) -> Result<Vec<Entry>, BadInput> {
    let text = text_of(ARGUMENT, path)?;
    let found = entries(&text, |name| std::env::var(name).ok());
    found.map_err(|problem| BadInput::new(ARGUMENT, format!("{}: {problem}", path.display())))
}

fn entries(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Vec<Entry>, String> {
    // The text of a serde error can quote the value: only the position is passed on.
    let file: File = serde_json::from_str(text)
        .map_err(|error| format!("it is no host config: line {}, column {}", error.line(), error.column()))?;
    if file.servers.is_empty() {
        return Err("it names no servers: neither mcpServers nor servers has any".to_owned());
    }
    let wanted = file.servers.into_iter().filter(|(_, server)| !server.disabled);
    Ok(wanted
        .map(|(name, server)| {
            let what = what(server, &variable).unwrap_or_else(What::Unusable);
            Entry { name: Some(name), what }
        })
        .collect())
}

fn what(server: Server, variable: &impl Fn(&str) -> Option<String>) -> Result<What, String> {
    let all = |values: BTreeMap<String, String>| {
        values.into_iter().map(|(name, value)| Ok((name, expanded(&value, variable)?))).collect::<Result<_, String>>()
    };
    match (server.url, server.command) {
        (Some(url), _) => Ok(What::Url { url: expanded(&url, variable)?, headers: all(server.headers)? }),
        (None, Some(program)) => Ok(What::Command(Program {
            program: expanded(&program, variable)?,
            arguments: server.args.iter().map(|text| expanded(text, variable)).collect::<Result<_, String>>()?,
            environment: all(server.env)?,
        })),
        (None, None) => Err("it has neither url nor command".to_owned()),
    }
}

/// `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}` become what the environment says.
fn expanded(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((named, behind)) = after.split_once('}') else { break };
        let named = named.strip_prefix("env:").unwrap_or(named);
        let (name, otherwise) = named.split_once(":-").map_or((named, None), |(name, other)| (name, Some(other)));
        let value = variable(name).or_else(|| otherwise.map(str::to_owned));
        expanded.push_str(before);
        expanded.push_str(&value.ok_or_else(|| format!("the variable {name} is not set"))?);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<Entry> {
        entries(text, |name| (name == "KEY").then(|| "k1".to_owned())).unwrap()
    }

    #[test]
    fn urls_and_commands_are_read_with_their_variables() {
        let found = of(r#"{"mcpServers":{
            "a":{"url":"https://a.test/mcp","headers":{"authorization":"Bearer ${env:KEY}"},"more":1},
            "b":{"command":"run","args":["${KEY}","${NONE:-x}"],"env":{"TOKEN":"t"}},
            "c":{"disabled":true,"command":"no"}}}"#);
        assert_eq!(found.len(), 2);
        let What::Url { headers, .. } = &found[0].what else { panic!("no url") };
        assert_eq!(headers["authorization"], "Bearer k1");
        let What::Command(Program { arguments, .. }) = &found[1].what else { panic!("no command") };
        assert_eq!(*arguments, ["k1", "x"]);
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_else_is() {
        let found = of(r#"{"servers":{"a":{},"b":{"url":"${NONE}/s3cret"}}}"#);
        let why = |entry: &Entry| if let What::Unusable(why) = &entry.what { why.clone() } else { String::new() };
        assert_eq!(why(&found[0]), "it has neither url nor command");
        assert_eq!(why(&found[1]), "the variable NONE is not set");
        let problem = entries(r#"{"mcpServers":{"a":{"url":"s3cret""#, |_| None).err().unwrap();
        assert!(!problem.contains("s3cret") && problem.contains("line 1"), "{problem}");
    }
}
