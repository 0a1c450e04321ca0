//! Where names come from that a module re-exports.

use std::collections::BTreeMap;

use syn::{Item, Visibility};

use super::imports::{absolute, leaves};
use super::tree::{ModulePath, Tree};

/// Re-exports that lead to re-exports are followed so often.
const DOORS: usize = 8;

/// The names that each module re-exports, and what they stand for.
pub(super) struct ReExports {
    doors: BTreeMap<(ModulePath, String), Vec<String>>,
}

impl ReExports {
    pub(super) fn of(tree: &Tree) -> Self {
        let mut doors = BTreeMap::new();
        for (path, module) in &tree.modules {
            for item in &module.items {
                let Item::Use(item) = item else { continue };
                if matches!(item.vis, Visibility::Inherited) {
                    continue;
                }
                for (segments, name) in leaves(&item.tree) {
                    if let (Some(name), Some(leads_to)) = (name, absolute(tree, path, &segments)) {
                        doors.insert((path.clone(), name), leads_to);
                    }
                }
            }
        }
        Self { doors }
    }

    /// The module that defines what this path names.
    pub(super) fn resolve(&self, tree: &Tree, path: &[String]) -> ModulePath {
        let mut path = path.to_vec();
        for _ in 0..DOORS {
            let (module, rest) = tree.module_of(&path);
            let Some(name) = rest.first() else { break };
            match self.doors.get(&(module.to_vec(), name.clone())) {
                Some(leads_to) => path = [leads_to, &rest[1..]].concat(),
                None => break,
            }
        }
        tree.module_of(&path).0.to_vec()
    }
}
