//! What goes to standard output and to standard error. Colours only where a terminal shows them, and `NO_COLOR` does not forbid it.

use std::io::{self, IsTerminal as _, Write as _};

use anstyle::Style;

use crate::failure::Failure;

/// The width of a table where nobody says how wide the screen is.
const WIDTH: u16 = 100;

/// Writes a text, and the end of its line if it has none, to standard output, as it is.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let mut write = || {
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()
    };
    write().map_err(Failure::Output)
}

/// Writes the text of a server. A program gets it as it is; a terminal gets no character that would move its cursor or change its colours.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_foreign(text: &str) -> Result<(), Failure> {
    if is_terminal() { print(&harmless(text)) } else { print(text) }
}

/// A text of a server as a terminal may show it: control characters, but for the ends of lines and tabs, are replaced by U+FFFD. Among them
/// are those with which a text could pass itself off as something else.
pub(crate) fn harmless(text: &str) -> String {
    let is_harmful = |character: char| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace("\r\n", "\n")
        .chars()
        .map(|character| if is_harmful(character) { '\u{fffd}' } else { character })
        .collect()
}

/// The first line of a text of a server, harmless.
pub(crate) fn first_line(text: &str) -> String {
    harmless(text.trim().lines().next().unwrap_or_default()).replace('\t', " ")
}

/// In this style, where standard output shows styles.
pub(crate) fn styled(text: &str, style: Style) -> String {
    let plain = anstream::AutoStream::choice(&io::stdout()) == anstream::ColorChoice::Never;
    if plain { text.to_owned() } else { format!("{style}{text}{style:#}") }
}

/// Writes bytes to standard output as they are.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// Writes a line to standard error. If that is closed there is nobody to tell.
pub(crate) fn note(text: &str) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{text}");
}

/// Does a person see standard output?
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Does a person see standard error?
pub(crate) fn person_sees_errors() -> bool {
    io::stderr().is_terminal()
}

/// How many columns the screen has; a stated width where there is no screen.
pub(crate) fn width() -> u16 {
    terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_server_moves_no_cursor() {
        assert_eq!(harmless("a\u{1b}[2Jb\r\nc\td\u{202e}e\u{9b}f"), "a\u{fffd}[2Jb\nc\td\u{fffd}e\u{fffd}f");
        assert_eq!(first_line("  one\u{7}\ntwo"), "one\u{fffd}");
    }
}
