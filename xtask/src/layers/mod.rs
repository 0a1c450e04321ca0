//! The layers of the core, kept: a file imports only from its own layer and from those below, and no files import each other in a circle,
//! neither in the core nor in a binding. Which layers there are, and in which order, says `docs/architecture.md` alone.

mod circles;
mod findings;
mod imports;
mod order;
mod reexports;
mod tree;

mod tests;

use std::path::Path;

use anyhow::Result;

use self::findings::Finding;
use self::imports::Import;
use self::tree::{Sources, Tree};

/// The page that names the layers.
const PAGE: &str = "docs/architecture.md";

/// What each import of the crate whose root is this file leads to, file by file.
fn imports(sources: &dyn Sources, root: &Path) -> Result<(Tree, Vec<Import>)> {
    let tree = Tree::read(sources, root)?;
    let imports = imports::of(&tree);
    Ok((tree, imports))
}

/// What is wrong with the imports of a crate: its circles, and, if it has layers, what runs upwards.
fn findings(sources: &dyn Sources, root: &Path, layers: Option<&[String]>) -> Result<Vec<Finding>> {
    let (tree, imports) = imports(sources, root)?;
    let mut found = circles::of(&imports);
    if let Some(layers) = layers {
        found.extend(order::upwards(&tree, &imports, layers));
    }
    Ok(found)
}
