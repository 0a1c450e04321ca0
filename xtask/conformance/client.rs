//! The client that the official conformance suite drives, in Rust: `conformance-client URL`, with the scenario in the environment.
//!
//! It behaves alike in every scenario: it lists what the server offers and calls each of it once. The few that ask for more are named in `run`.

use std::sync::Arc;
use std::time::Duration;
use std::{env, io};

use anyhow::{Context as _, Result, ensure};
use oncewire::oauth::{MemoryStore, OAuth};
use oncewire::{Client, EventName, Tool};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// The longest that a scenario may take; the suite's own limit ends only the shell around us.
const LIMIT: Duration = Duration::from_secs(20);

#[tokio::main]
async fn main() -> Result<()> {
    let url = env::args().next_back().context("the last argument is the URL of the server")?;
    timeout(LIMIT, run(&url)).await.context("the scenario takes too long")?
}

async fn run(url: &str) -> Result<()> {
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").context("MCP_CONFORMANCE_SCENARIO is not set")?;
    let (heard, mut listening) = mpsc::unbounded_channel();
    let mut builder = Client::builder(url)
        // What is left out is filled with the defaults of the schema: by the client, not here.
        .on_elicitation(|_| async { Ok(json!({ "action": "accept", "content": {} })) })
        // Nothing asks for these two; they are declared.
        .on_sampling(|_| async { Err("there is no model here".into()) })
        .on_roots(|_| async { Ok(json!({ "roots": [] })) })
        .on_event(move |event| {
            if event.event == EventName::ListenerOn {
                // Nobody listens any more when the scenario is over.
                let _ = heard.send(());
            }
        });
    if let Some(login) = scenario.strip_prefix("auth/") {
        builder = builder.oauth(oauth(login)?);
    }
    let client = builder.connect().await?;
    ensure!(
        client.era().map(oncewire::Lifecycle::as_str) == Some(era()),
        "the client speaks the wrong era: {:?}",
        client.era().map(oncewire::Lifecycle::as_str)
    );
    match scenario.as_str() {
        "elicitation-sep1034-client-defaults" => {
            // The server asks on the stream that the client opens beside its calls, and asks nobody if there is none yet.
            listening.recv().await.context("the stream was never opened")?;
            use_tools(&client).await?;
        }
        "http-custom-headers" => call_as_told(&client).await?,
        "json-schema-2020-12-preservation" => echo_schema(&client).await?,
        "json-schema-ref-no-deref" => {
            let tools = client.list_tools().await?;
            ensure!(!tools.items.is_empty(), "the server has no tools");
        }
        _ => {
            use_tools(&client).await?;
            use_resources(&client).await?;
            use_prompts(&client).await?;
        }
    }
    client.close().await;
    Ok(())
}

/// How the client logs in: as a person's in a browser, unless the scenario gives it something else to log in with.
fn oauth(scenario: &str) -> Result<OAuth> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    let context: Value = serde_json::from_str(&context)?;
    let text = |name: &str| context[name].as_str().map(str::to_owned).with_context(|| format!("{name} is not given"));
    let oauth =
        OAuth::new().store(Arc::new(MemoryStore::new())).receive(|url| async move { Ok(redirect(&url).await?) });
    Ok(match scenario {
        "basic-cimd" => oauth.client_metadata_url("https://conformance-test.local/client-metadata.json"),
        "pre-registration" => {
            oauth.client_id(text("client_id")?).client_secret(text("client_secret")?).issuer(text("issuer")?)
        }
        "client-credentials-basic" => {
            oauth.client_id(text("client_id")?).client_secret(text("client_secret")?).client_credentials()
        }
        "client-credentials-jwt" => oauth
            .client_id(text("client_id")?)
            .private_key(text("private_key_pem")?, text("signing_algorithm")?)
            .client_credentials(),
        "enterprise-managed-authorization" => {
            let id_token = text("idp_id_token")?;
            let id_token = move || std::future::ready(Ok(id_token.clone()));
            oauth.client_id(text("client_id")?).client_secret(text("client_secret")?).enterprise(
                text("idp_token_endpoint")?,
                text("idp_client_id")?,
                None,
                id_token,
            )
        }
        "wif-jwt-bearer" => {
            let assertion = text("valid_jwt")?;
            oauth.client_id(text("client_id")?).workload_identity(move || std::future::ready(Ok(assertion.clone())))
        }
        "dpop" | "dpop-nonce" => oauth.dpop(true),
        _ => oauth,
    })
}

/// What the browser of a person would do: the suite's authorization servers grant everything, and send it back at once.
async fn redirect(url: &str) -> Result<String, io::Error> {
    let broken = || io::Error::other("what came is no redirect");
    let rest = url.strip_prefix("http://").ok_or_else(broken)?;
    let (host, path) = rest.split_once('/').ok_or_else(broken)?;
    let mut stream = TcpStream::connect(host).await?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let location = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    location.ok_or_else(broken)
}

/// The era of the version that the scenario is run with. The client finds it out by itself.
fn era() -> &'static str {
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    if version.as_str() >= "2026" { "modern" } else { "legacy" }
}

/// Calls every tool, with arguments that its schema takes.
async fn use_tools(client: &Client) -> Result<()> {
    for tool in client.list_tools().await?.items {
        let result = client.call_tool(&tool.name, Value::Object(arguments(&tool)?)).await?;
        println!("{}: {}", tool.name, result.text());
    }
    Ok(())
}

/// Something of the right type for each argument that a tool cannot do without.
fn arguments(tool: &Tool) -> Result<Map<String, Value>> {
    let schema: Value = tool.input_schema.as_ref().map_or(Ok(Value::Null), |raw| serde_json::from_str(raw.get()))?;
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let argument = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        _ => json!("text"),
    };
    Ok(required.map(|name| (name.to_owned(), argument(name))).collect())
}

/// The calls that come with the scenario.
async fn call_as_told(client: &Client) -> Result<()> {
    let context = env::var("MCP_CONFORMANCE_CONTEXT").context("MCP_CONFORMANCE_CONTEXT is not set")?;
    let context: Value = serde_json::from_str(&context)?;
    for call in context["toolCalls"].as_array().context("no calls are given")? {
        let name = call["name"].as_str().context("a call names no tool")?;
        client.call_tool(name, call["arguments"].clone()).await?;
    }
    Ok(())
}

/// Sends the schema of the one tool back through the other, as it was received.
async fn echo_schema(client: &Client) -> Result<()> {
    let tools = client.list_tools().await?.items;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").context("the tool is missing")?;
    let schema = tool.input_schema.as_ref().context("the tool has no schema")?;
    client.call_tool_json("json_schema_echo", &format!("{{\"schema\":{}}}", schema.get())).await?;
    Ok(())
}

async fn use_resources(client: &Client) -> Result<()> {
    if offers(client, "resources") {
        for resource in client.list_resources().await?.items {
            client.read_resource(&resource.uri).await?;
        }
    }
    Ok(())
}

async fn use_prompts(client: &Client) -> Result<()> {
    if offers(client, "prompts") {
        for prompt in client.list_prompts().await?.items {
            client.get_prompt(&prompt.name, json!({})).await?;
        }
    }
    Ok(())
}

fn offers(client: &Client, capability: &str) -> bool {
    client.capabilities().is_some_and(|capabilities| capabilities.get(capability).is_some())
}
