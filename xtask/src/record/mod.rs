//! `cargo xtask record`: runs the command `oncewire` on a terminal against the fault server, and keeps what the screen showed as the picture of the
//! README, `docs/command.svg`.

mod svg;

use std::io::Read as _;
use std::num::NonZeroU16;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use oncewire_tests::server::{FaultServer, Options as ServerOptions, Script};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::json;

use crate::workspace;

/// The picture.
const PICTURE: &str = "docs/command.svg";
/// The screen.
const COLUMNS: NonZeroU16 = NonZeroU16::new(100).unwrap();
/// More than is ever used; what is left over is cut off.
const ROWS: NonZeroU16 = NonZeroU16::new(60).unwrap();
/// No command of the session takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is typed. The server cuts the connection under `send_draft`, after it ran.
const SESSION: [&str; 4] = [
    "oncewire list $URL tools",
    "oncewire call $URL create_draft to=ada count=3",
    "oncewire call $URL create_draft to=ada count=many",
    "oncewire call $URL send_draft id=7; echo \"exit code $?\"",
];

/// The command line.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {}

/// Records. `Ok(true)`: the picture is written.
pub(crate) fn run(_: &Options) -> Result<bool> {
    let root = workspace::root()?;
    let mut build = Command::new(workspace::cargo());
    workspace::forget_our_crate(&mut build);
    build.current_dir(&root).args(["build", "--package", "oncewire-cli"]);
    if !build.status().context("cannot start cargo")?.success() {
        bail!("the command cannot be built");
    }
    let folder = workspace::target()?.join("debug");
    let runtime = tokio::runtime::Runtime::new()?;
    let server = runtime.block_on(server())?;
    let mut screen = vt100::Parser::new(ROWS, COLUMNS, 0);
    for typed in SESSION {
        screen.process(format!("\u{1b}[1;32m$\u{1b}[0m {typed}\r\n").as_bytes());
        play(typed, server.url(), &folder, &mut screen)?;
    }
    let picture = root.join(PICTURE);
    std::fs::write(&picture, svg::drawn(screen.screen())?).with_context(|| format!("cannot write {PICTURE}"))?;
    println!("{PICTURE}: {} commands", SESSION.len());
    Ok(true)
}

/// A server with drafts, which cuts the connection under one of its tools.
async fn server() -> Result<FaultServer> {
    let tool = |about: &str, required: &str, properties: serde_json::Value, hints: serde_json::Value| {
        json!({ "description": about, "annotations": hints,
            "inputSchema": { "type": "object", "properties": properties, "required": [required] } })
    };
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let options = ServerOptions {
        tools: [
            (
                "create_draft",
                tool(
                    "Writes a draft",
                    "to",
                    json!({ "to": text, "count": number }),
                    json!({ "destructiveHint": false }),
                ),
            ),
            (
                "send_draft",
                tool(
                    "Sends a draft to whom it is for",
                    "id",
                    json!({ "id": number }),
                    json!({ "destructiveHint": true }),
                ),
            ),
        ]
        .map(|(name, tool)| (name.to_owned(), tool))
        .into(),
        ..ServerOptions::default()
    };
    let listed = ["create_draft", "send_draft"].map(|name| {
        let mut tool = options.tools.get(name).cloned().unwrap_or_default();
        tool["name"] = name.into();
        tool
    });
    let list = json!({ "tools": listed });
    let answer = json!({ "jsonrpc": "2.0", "id": "$id", "result": list });
    let rules = json!([
        { "when": { "rpc": "tools/list" }, "do": [{ "respond": { "json": answer } }] },
        { "when": { "name": "send_draft" }, "do": ["execute", "reset"] },
    ]);
    FaultServer::start(Script { options, rules: serde_json::from_value(rules)? })
        .await
        .context("cannot start the fault server")
}

/// Runs one line on a terminal of its own; what is written there goes to the screen.
fn play(typed: &str, url: &str, folder: &Path, screen: &mut vt100::Parser) -> Result<()> {
    let size = PtySize { rows: ROWS.get(), cols: COLUMNS.get(), pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size)?;
    let mut shell = CommandBuilder::new("sh");
    shell.args(["-c", typed]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
    shell.env("PATH", std::env::join_paths(paths)?);
    shell.env("URL", url);
    shell.env("TERM", "xterm-256color");
    shell.env_remove("NO_COLOR");
    let mut child = pair.slave.spawn_command(shell)?;
    let mut reader = pair.master.try_clone_reader()?;
    let (sender, chunks) = channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer.get(..count).unwrap_or_default().to_vec()).is_err() {
                break;
            }
        }
    });
    child.wait()?;
    drop(pair);
    while let Ok(chunk) = chunks.recv_timeout(PATIENCE) {
        screen.process(&chunk);
    }
    Ok(())
}
