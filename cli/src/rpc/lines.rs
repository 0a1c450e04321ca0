//! Lines of a reader that may never end one: each is kept up to a bound, and a longer one passes by.

use std::io::{self, BufRead, BufReader, Read};
use std::thread;

use tokio::sync::mpsc;

use super::message::Id;
use super::top_level_id::TopLevelId;

/// Lines that are read ahead.
const AHEAD: usize = 1;

/// One line.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// Its bytes, without the line end.
    Whole(Vec<u8>),
    /// It was longer than the bound, and is gone; the id that stood at its top level is left.
    TooLong {
        /// How many bytes it had.
        bytes: u64,
        /// The id of the message that it was.
        id: Option<Id>,
    },
}

/// Reads lines in a thread of its own, for a read of the standard input cannot be called off. The channel ends with the input.
///
/// # Errors
/// There is no thread to be had.
pub(crate) fn read_lines(input: impl Read + Send + 'static, max: usize) -> io::Result<mpsc::Receiver<Line>> {
    let (lines, read) = mpsc::channel(AHEAD);
    thread::Builder::new().name("oncewire-stdin".to_owned()).spawn(move || {
        let mut input = BufReader::with_capacity(64 * 1024, input);
        while let Ok(Some(line)) = next(&mut input, max) {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    })?;
    Ok(read)
}

/// The next line; `None` at the end of the input. A last line without a line end counts.
fn next(input: &mut impl BufRead, max: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut passed: Option<(u64, TopLevelId)> = None;
    let mut any = false;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(any.then(|| ended(line, passed)));
        }
        any = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or_default();
        if let Some((bytes, looking)) = &mut passed {
            *bytes += piece.len() as u64;
            looking.pass(piece);
        } else if line.len() + piece.len() > max {
            let mut looking = TopLevelId::default();
            looking.pass(&line);
            looking.pass(piece);
            passed = Some(((line.len() + piece.len()) as u64, looking));
            line = Vec::new();
        } else {
            line.extend_from_slice(piece);
        }
        let taken = piece.len() + usize::from(end.is_some());
        input.consume(taken);
        if end.is_some() {
            return Ok(Some(ended(line, passed)));
        }
    }
}

fn ended(line: Vec<u8>, passed: Option<(u64, TopLevelId)>) -> Line {
    match passed {
        Some((bytes, looking)) => Line::TooLong { bytes, id: looking.id() },
        None => Line::Whole(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(input: &str, max: usize, buffer: usize) -> Vec<Line> {
        let mut input = BufReader::with_capacity(buffer, input.as_bytes());
        std::iter::from_fn(|| next(&mut input, max).unwrap()).collect()
    }

    #[test]
    fn a_line_that_is_too_long_costs_itself_alone() {
        let input = "{\"a\":1}\n{\"params\":\"xxxxxxxxxxxxxxxxxxxxxxxx\",\"id\":5}\n\nlast";
        for buffer in [1, 7, 1_000] {
            let read = lines(input, 8, buffer);
            let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
            let id = Id::of(&crate::rpc::members::text("5".to_owned()));
            assert_eq!(read, [whole("{\"a\":1}"), Line::TooLong { bytes: 44, id }, whole(""), whole("last")]);
        }
    }

    #[test]
    fn a_line_of_exactly_the_bound_passes() {
        assert_eq!(lines("12345678\n", 8, 3), [Line::Whole(b"12345678".to_vec())]);
        assert_eq!(lines("", 8, 3), []);
    }
}
