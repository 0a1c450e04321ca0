//! A screen as a picture: one text for each run of cells that look alike.

use std::fmt::Write as _;

use anyhow::Result;
use vt100::{Cell, Color, Screen};

/// The size of a cell, and of the room around all of them, in pixels.
const CELL: (f32, f32) = (8.4, 18.0);
const ROOM: f32 = 14.0;
/// Paper and ink.
const PAPER: &str = "#0d1117";
const INK: &str = "#e6edf3";
const PALE: &str = "#8b949e";
/// The sixteen colours of a terminal.
const COLOURS: [&str; 16] = [
    "#484f58", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4", "#6e7681", "#ffa198",
    "#56d364", "#e3b341", "#79c0ff", "#d2a8ff", "#56d4dd", "#ffffff",
];

/// The picture, down to the last row in which something is written.
pub(super) fn drawn(screen: &Screen) -> Result<String> {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let is_written = |row: &u16| (0..columns).any(|column| screen.cell(*row, column).is_some_and(Cell::has_contents));
    let last = (0..rows).rfind(is_written).map_or(0, |row| row + 1);
    let (width, height) = (f32::from(columns) * CELL.0 + 2.0 * ROOM, f32::from(last) * CELL.1 + 2.0 * ROOM);
    let mut svg = String::new();
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0}" height="{height:.0}" role="img" aria-label="The command oncewire in a terminal">"#
    )?;
    writeln!(svg, r#"<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>"#)?;
    writeln!(
        svg,
        r#"<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14" xml:space="preserve">"#
    )?;
    for row in 0..last {
        let mut column = 0;
        while column < columns {
            let Some(first) = screen.cell(row, column) else { break };
            let start = column;
            let mut text = String::new();
            while let Some(cell) = screen.cell(row, column).filter(|cell| alike(first, cell)) {
                text.push_str(if cell.has_contents() { cell.contents() } else { " " });
                column += 1;
            }
            if text.trim().is_empty() {
                continue;
            }
            let x = ROOM + f32::from(start) * CELL.0;
            let y = ROOM + f32::from(row) * CELL.1 + 14.0;
            let length = f32::from(column - start) * CELL.0;
            let weight = if first.bold() { r#" font-weight="bold""# } else { "" };
            let ink = ink(first);
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            writeln!(
                svg,
                r#"<text x="{x:.1}" y="{y:.1}" textLength="{length:.1}" fill="{ink}"{weight}>{text}</text>"#
            )?;
        }
    }
    svg.push_str("</g>\n</svg>\n");
    Ok(svg)
}

fn alike(one: &Cell, other: &Cell) -> bool {
    (one.fgcolor(), one.bold(), one.dim()) == (other.fgcolor(), other.bold(), other.dim())
}

fn ink(cell: &Cell) -> String {
    match cell.fgcolor() {
        Color::Default if cell.dim() => PALE.to_owned(),
        Color::Default => INK.to_owned(),
        Color::Idx(index) => COLOURS.get(usize::from(index)).copied().unwrap_or(INK).to_owned(),
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(count: u16) -> std::num::NonZeroU16 {
        std::num::NonZeroU16::new(count).unwrap()
    }

    #[test]
    fn what_is_written_is_drawn_and_no_more() {
        let mut parser = vt100::Parser::new(size(10), size(20), 0);
        parser.process(b"\x1b[1;32m$\x1b[0m a <b> & c\r\n");
        let picture = drawn(parser.screen()).unwrap();
        assert_eq!(picture.matches("<text ").count(), 2, "{picture}");
        assert!(picture.contains(r##"fill="#3fb950" font-weight="bold">$</text>"##), "{picture}");
        assert!(picture.contains("a &lt;b&gt; &amp; c"), "{picture}");
        assert!(picture.contains(r#"height="46""#), "one row: {picture}");
    }
}
