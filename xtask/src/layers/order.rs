//! The order of the layers, and what runs against it.

use anyhow::{Result, ensure};

use super::findings::{DOWNWARDS, Finding};
use super::imports::Import;
use super::tree::Tree;

/// The heading of the section that names the layers.
const HEADING: &str = "## Layers";

/// The layers that the page names, from the top to the ground: the first cell of each row of the table in its section on layers.
pub(super) fn of(page: &str) -> Result<Vec<String>> {
    let section = page.split(&format!("{HEADING}\n")).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    let name = |line: &str| line.strip_prefix("| `")?.split_once("` |").map(|(name, _)| name.to_owned());
    let layers: Vec<_> = section.lines().filter_map(name).collect();
    ensure!(!layers.is_empty(), "there is no table of layers below the heading {HEADING:?}");
    Ok(layers)
}

/// Imports that run upwards, and folders that are no layer. The root of the crate, which only re-exports, stands above all.
pub(super) fn upwards(tree: &Tree, imports: &[Import], layers: &[String]) -> Vec<Finding> {
    let place = |layer: &String| layers.iter().position(|name| name == layer);
    let tops = tree.modules.iter().filter(|(path, _)| path.len() == 1);
    let unplaced = tops.filter(|(path, _)| place(&path[0]).is_none()).map(|(path, module)| Finding {
        file: module.file.clone(),
        line: 0,
        import: path[0].clone(),
        problem: "is no layer that the page names".to_owned(),
        rule: DOWNWARDS,
    });
    let upwards = imports.iter().filter_map(|import| {
        let from = place(import.from.first()?)?;
        let problem = match import.to.first() {
            None => "imports from the root of the crate, which stands above every layer".to_owned(),
            Some(layer) if place(layer)? < from => {
                format!("imports from {}, up from layer {} to {layer}", import.to_file.display(), layers[from])
            }
            Some(_) => return None,
        };
        let (file, import_, line) = (import.file.clone(), import.written.clone(), import.line);
        Some(Finding { file, line, import: import_, problem, rule: DOWNWARDS })
    });
    unplaced.chain(upwards).collect()
}
