//! What can be seen of a stream of events besides its messages: comments, ids, when each came. What a message means is read by the core.

use std::time::Duration;

use oncewire::diagnose::Chunk;
use serde_json::Value;

/// One block of a stream, up to its blank line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Block {
    /// When its last byte came.
    pub(super) at: Duration,
    pub(super) id: Option<String>,
    pub(super) retry: Option<u64>,
    pub(super) data: Option<String>,
    pub(super) comment: bool,
}

impl Block {
    /// Is it the answer to the request with this id?
    pub(super) fn answers(&self, id: u64) -> bool {
        let message = self.data.as_deref().and_then(|data| serde_json::from_str::<Value>(data).ok());
        message.is_some_and(|message| message.get("method").is_none() && message.get("id") == Some(&Value::from(id)))
    }
}

/// The blocks in these pieces of a body.
pub(super) fn blocks(chunks: &[Chunk]) -> Vec<Block> {
    let (mut blocks, mut block, mut line, mut begun, mut after_return) =
        (Vec::new(), Block::default(), Vec::new(), false, false);
    for chunk in chunks {
        for byte in chunk.bytes.iter().copied() {
            if std::mem::take(&mut after_return) && byte == b'\n' {
                continue;
            }
            after_return = byte == b'\r';
            if !matches!(byte, b'\n' | b'\r') {
                line.push(byte);
                continue;
            }
            if line.is_empty() {
                if std::mem::take(&mut begun) {
                    blocks.push(Block { at: chunk.at, ..std::mem::take(&mut block) });
                }
                continue;
            }
            begun = true;
            read(&String::from_utf8_lossy(&line), &mut block);
            line.clear();
        }
    }
    blocks
}

fn read(line: &str, block: &mut Block) {
    if line.starts_with(':') {
        block.comment = true;
        return;
    }
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    let value = value.strip_prefix(' ').unwrap_or(value);
    match name {
        "id" => block.id = Some(value.to_owned()),
        "retry" => block.retry = value.parse().ok(),
        "data" => match &mut block.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
            }
            None => block.data = Some(value.to_owned()),
        },
        _ => {}
    }
}
