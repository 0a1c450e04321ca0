//! The files of a crate, found as the compiler finds them: from its root, by `mod`. Modules of tests are left out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use syn::{Attribute, Item};

/// Where files are read from.
pub(super) trait Sources {
    /// The text of a file; `None` if there is none.
    fn text(&self, file: &Path) -> Option<String>;
}

/// A module by its path from the root of the crate, which has the empty one.
pub(super) type ModulePath = Vec<String>;

/// A module, which may stand within the file of another.
pub(super) struct Module {
    pub(super) file: PathBuf,
    /// Its items, but for those of tests.
    pub(super) items: Vec<Item>,
}

/// The modules of a crate.
#[derive(Default)]
pub(super) struct Tree {
    pub(super) modules: BTreeMap<ModulePath, Module>,
}

impl Tree {
    /// Reads the crate whose root is this file.
    pub(super) fn read(sources: &dyn Sources, root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let folder = root.parent().context("the root of the crate has no folder")?;
        tree.read_file(sources, Vec::new(), root, folder)?;
        Ok(tree)
    }

    /// `folder` is where its children are.
    fn read_file(&mut self, sources: &dyn Sources, path: ModulePath, file: &Path, folder: &Path) -> Result<()> {
        let text = sources.text(file).with_context(|| format!("cannot read {}", file.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?;
        self.add(sources, path, file, folder, parsed.items)
    }

    fn add(
        &mut self,
        sources: &dyn Sources,
        path: ModulePath,
        file: &Path,
        folder: &Path,
        items: Vec<Item>,
    ) -> Result<()> {
        let (modules, items): (Vec<_>, Vec<_>) = items
            .into_iter()
            .filter(|item| !attributes(item).iter().any(is_of_tests))
            .partition(|item| matches!(item, Item::Mod(_)));
        self.modules.insert(path.clone(), Module { file: file.to_owned(), items });
        for module in modules {
            let Item::Mod(module) = module else { continue };
            let name = module.ident.to_string();
            let child: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
            let below = folder.join(&name);
            if let Some((_, items)) = module.content {
                self.add(sources, child, file, &below, items)?;
                continue;
            }
            if module.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
                bail!("{}: the module {name} has a path of its own, which is not followed here", file.display());
            }
            let beside = folder.join(format!("{name}.rs"));
            let its_file = if sources.text(&beside).is_some() { beside } else { below.join("mod.rs") };
            self.read_file(sources, child, &its_file, &below)?;
        }
        Ok(())
    }

    /// The longest part of this path that is a module, and the names behind it.
    pub(super) fn module_of<'a>(&self, path: &'a [String]) -> (&'a [String], &'a [String]) {
        let length = (0..=path.len()).rev().find(|length| self.modules.contains_key(&path[..*length]));
        path.split_at(length.unwrap_or(0))
    }
}

/// Is it there only when tests are built?
pub(super) fn is_of_tests(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    let condition = attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
    attribute.path().is_ident("cfg") && matches!(&*condition, "test" | "doctest")
}

pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
