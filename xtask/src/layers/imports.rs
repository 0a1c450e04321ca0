//! What the files of a crate import from each other: by `use`, by a path where it is used, and in the arguments of macros.

use std::path::PathBuf;

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{ImplItem, ItemUse, Macro, Path, UseTree, VisRestricted, Visibility};

use super::reexports::ReExports;
use super::tree::{ModulePath, Tree, is_of_tests};

/// An import, from one file to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) file: PathBuf,
    pub(super) line: usize,
    /// As it is written.
    pub(super) written: String,
    /// The module that it stands in.
    pub(super) from: ModulePath,
    /// The module that defines what is imported, whatever it is re-exported by.
    pub(super) to: ModulePath,
    pub(super) to_file: PathBuf,
}

/// All of a crate. What a module re-exports from below itself is a door, and no import of its own: who goes through it imports from
/// where the door leads.
pub(super) fn of(tree: &Tree) -> Vec<Import> {
    let doors = ReExports::of(tree);
    let mut imports = Vec::new();
    for (path, module) in &tree.modules {
        let mut paths = Paths { found: Vec::new() };
        for item in &module.items {
            paths.visit_item(item);
        }
        for Found { segments, line, is_public } in paths.found {
            let Some(absolute) = absolute(tree, path, &segments) else { continue };
            let to = doors.resolve(tree, &absolute);
            let is_door = is_public && to.starts_with(path);
            let Some(target) = tree.modules.get(&to).filter(|target| target.file != module.file && !is_door) else {
                continue;
            };
            let (file, to_file) = (module.file.clone(), target.file.clone());
            let written = segments.join("::");
            imports.push(Import { file, line, written, from: path.clone(), to, to_file });
        }
    }
    imports
}

/// The path from the root of the crate, if this one is of the crate.
pub(super) fn absolute(tree: &Tree, module: &[String], segments: &[String]) -> Option<Vec<String>> {
    let (mut base, mut rest) = match segments.first()?.as_str() {
        "crate" => (Vec::new(), &segments[1..]),
        "self" | "super" => (module.to_vec(), segments),
        child => {
            let mut below = module.to_vec();
            below.push(child.to_owned());
            // Anything else is of another crate, or was imported by a line of its own.
            return tree.modules.contains_key(&below).then(|| [module, segments].concat());
        }
    };
    while let Some(("self" | "super", behind)) = rest.split_first().map(|(first, behind)| (first.as_str(), behind)) {
        if rest[0] == "super" {
            base.pop()?;
        }
        rest = behind;
    }
    base.extend(rest.iter().cloned());
    Some(base)
}

/// A path as it stands in a file.
struct Found {
    segments: Vec<String>,
    line: usize,
    /// It is re-exported.
    is_public: bool,
}

struct Paths {
    found: Vec<Found>,
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_public = !matches!(item.vis, Visibility::Inherited);
        for (segments, _) in leaves(&item.tree) {
            self.found.push(Found { segments, line: item.span().start().line, is_public });
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let segments: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if segments.len() > 1 {
            self.found.push(Found { segments, line: path.span().start().line, is_public: false });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.read_tokens(call.tokens.clone());
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        let attributes = match item {
            ImplItem::Fn(item) => &item.attrs,
            ImplItem::Const(item) => &item.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if !attributes.iter().any(is_of_tests) {
            visit::visit_impl_item(self, item);
        }
    }

    /// `pub(super)` imports nothing.
    fn visit_vis_restricted(&mut self, _: &'ast VisRestricted) {}
}

impl Paths {
    /// The arguments of a macro are no syntax that could be read: there every `a::b` counts.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let mut segments: Vec<String> = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut segments, line);
                        line = name.span().start().line;
                    }
                    segments.push(name.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.end_path(&mut segments, line);
            colons = 0;
        }
        self.end_path(&mut segments, line);
    }

    fn end_path(&mut self, segments: &mut Vec<String>, line: usize) {
        let segments = std::mem::take(segments);
        if segments.len() > 1 {
            self.found.push(Found { segments, line, is_public: false });
        }
    }
}

/// The paths of a `use`, each with the name that it is known by from there on: `None` for all that a module has.
pub(super) fn leaves(tree: &UseTree) -> Vec<(Vec<String>, Option<String>)> {
    match tree {
        UseTree::Path(path) => {
            let first = path.ident.to_string();
            let prefixed = |(mut rest, name): (Vec<String>, Option<String>)| {
                // `a::{self}` is `a`.
                if rest == ["self"] {
                    return (
                        vec![first.clone()],
                        Some(first.clone()).filter(|_| name.as_deref() == Some("self")).or(name),
                    );
                }
                rest.insert(0, first.clone());
                (rest, name)
            };
            leaves(&path.tree).into_iter().map(prefixed).collect()
        }
        UseTree::Name(name) => vec![(vec![name.ident.to_string()], Some(name.ident.to_string()))],
        UseTree::Rename(rename) => vec![(vec![rename.ident.to_string()], Some(rename.rename.to_string()))],
        UseTree::Glob(_) => vec![(Vec::new(), None)],
        UseTree::Group(group) => group.items.iter().flat_map(leaves).collect(),
    }
}
