//! What a person sees: the command on a terminal of its own.

#![cfg(unix)]

use std::io::{Read as _, Write};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use oncewire_tests::server::{FaultServer, Options};
use portable_pty::{Child, CommandBuilder, PtyPair, PtySize, native_pty_system};
use serde_json::json;

use crate::support::{PATIENCE, server};

/// A terminal with the command in it.
struct Terminal {
    pair: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    /// The keyboard. Letting go of it would press Enter and Ctrl+D.
    keys: Box<dyn Write + Send>,
    chunks: Receiver<Vec<u8>>,
    /// All that was written to it.
    written: Vec<u8>,
    screen: vt100::Parser,
}

impl Terminal {
    fn start(columns: u16, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let size = PtySize { rows: 40, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_oncewire"));
        command.args(arguments);
        command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.env("TERM", "xterm-256color");
        for name in ["NO_COLOR", "CI", "COLUMNS"] {
            command.env_remove(name);
        }
        for (name, value) in environment {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            // On Linux the end of the last writer is an error.
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let keys = pair.master.take_writer().unwrap();
        Self { pair, child, keys, chunks, written: Vec::new(), screen: vt100::Parser::new(rows(40), rows(columns), 0) }
    }

    /// Waits until the screen shows this.
    fn shows(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen.screen().contents().contains(text) {
            self.take(deadline.saturating_duration_since(Instant::now()), text);
        }
    }

    fn take(&mut self, patience: Duration, wanted: &str) {
        let chunk = self.chunks.recv_timeout(patience);
        let chunk = chunk.unwrap_or_else(|_| panic!("no {wanted:?} on\n{}", self.screen.screen().contents()));
        self.screen.process(&chunk);
        self.written.extend(chunk);
    }

    fn type_in(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for the end of the command: its code, and what the screen shows.
    fn ended(mut self) -> (u32, String, Vec<u8>) {
        let status = self.child.wait().unwrap();
        // The command held the only other end.
        drop(self.pair);
        while let Ok(chunk) = self.chunks.recv_timeout(PATIENCE) {
            self.screen.process(&chunk);
            self.written.extend(chunk);
        }
        (status.exit_code(), self.screen.screen().contents(), self.written)
    }
}

const LONG: &str = "Writes a draft of a letter, and keeps it until somebody reads it through and sends it on its way to whom it is for.";

async fn with_a_long_description() -> FaultServer {
    let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]});
    let tool = json!({"description": LONG, "inputSchema": schema});
    server(Options { tools: [("create_draft".to_owned(), tool)].into(), ..Options::default() }, json!([])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_as_wide_as_the_screen_and_has_colours_unless_they_are_forbidden() {
    let server = with_a_long_description().await;
    let (code, screen, written) = Terminal::start(60, &["list", server.url(), "tools"], &[]).ended();
    assert_eq!(code, 0, "{screen}");
    assert!(screen.starts_with("Tools (6)\n") && screen.contains("NAME") && screen.contains("to*"), "{screen}");
    assert!(screen.contains("it is for."), "all of it, on several lines: {screen}");
    assert!(!screen.contains(LONG), "{screen}");
    assert!(written.contains(&0x1b), "the heading is bold");

    let (_, screen, written) = Terminal::start(60, &["list", server.url(), "tools"], &[("NO_COLOR", "1")]).ended();
    assert!(screen.starts_with("Tools (6)\n"), "{screen}");
    assert!(!written.contains(&0x1b), "NO_COLOR");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_shown_and_ctrl_c_says_the_verdict() {
    let options = Options { slow_ms: 600_000, progress_every_ms: 20, ..Options::default() };
    let server = server(options, json!([])).await;
    let mut terminal = Terminal::start(100, &["call", server.url(), "slow"], &[]);
    terminal.shows(" %");
    terminal.type_in("\u{3}");
    let (code, screen, _) = terminal.ended();
    assert_eq!(code, 130, "{screen}");
    assert!(screen.contains("error: interrupted: ") && screen.contains("the tool may have run"), "{screen}");
    assert!(!screen.contains(" %"), "the line of the progress is taken away: {screen}");
    assert_eq!(server.ledger().cancelled.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_cannot_write_over_the_screen() {
    let content = json!([{"type": "text", "text": "before\u{1b}[2J\u{1b}[Hafter"}]);
    let answer = json!({"jsonrpc": "2.0", "id": "$id", "result": {"content": content}});
    let rules = json!([{"when": {"rpc": "tools/call"}, "do": [{"respond": {"json": answer}}]}]);
    let server = server(Options::default(), rules).await;
    let (code, screen, written) = Terminal::start(80, &["call", server.url(), "poke"], &[]).ended();
    assert_eq!(code, 0, "{screen}");
    assert_eq!(String::from_utf8(written).unwrap(), "before\u{fffd}[2J\u{fffd}[Hafter\r\n");
}

/// Rows, or columns.
fn rows(count: u16) -> std::num::NonZero<u16> {
    std::num::NonZero::new(count).unwrap()
}
