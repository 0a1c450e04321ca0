//! The tree as it is, and trees that break the rules.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use test_case::test_case;

use super::findings::{DOWNWARDS, Finding, NO_CIRCLES};
use super::tree::Sources;
use super::{PAGE, findings, order};
use crate::workspace::root;

/// Files on the disk.
struct Disk;

impl Sources for Disk {
    fn text(&self, file: &Path) -> Option<String> {
        fs::read_to_string(file).ok()
    }
}

/// Files that are made up.
impl Sources for BTreeMap<PathBuf, &str> {
    fn text(&self, file: &Path) -> Option<String> {
        self.get(file).map(|text| (*text).to_owned())
    }
}

fn layers() -> Vec<String> {
    order::of(&fs::read_to_string(root().unwrap().join(PAGE)).unwrap()).unwrap()
}

fn told(found: &[Finding]) -> Vec<String> {
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn the_core_keeps_its_layers() {
    let found = findings(&Disk, &root().unwrap().join("core/src/lib.rs"), Some(&layers())).unwrap();
    assert!(found.is_empty(), "{:#?}", told(&found));
}

#[test_case("bindings-python")]
#[test_case("bindings-node")]
#[test_case("bindings-swift")]
fn no_files_of_a_binding_import_each_other(binding: &str) {
    let found = findings(&Disk, &root().unwrap().join(binding).join("src/lib.rs"), None).unwrap();
    assert!(found.is_empty(), "{:#?}", told(&found));
}

/// A crate of three layers, which keeps the rules.
fn sound() -> BTreeMap<PathBuf, &'static str> {
    [
        ("src/lib.rs", "mod call;\nmod session;\nmod words;\n\npub use words::kind::Kind;\n"),
        ("src/call/mod.rs", "mod drive;\n\npub(crate) use drive::run;\n"),
        (
            "src/call/drive.rs",
            "use crate::session::{self, Session};\nuse crate::words::kind::Kind;\npub(crate) fn run() {}\n",
        ),
        ("src/session.rs", "mod handle;\n\npub(crate) use handle::Session;\n"),
        ("src/session/handle.rs", "use crate::words::kind;\n\npub(crate) struct Session(kind::Kind);\n"),
        ("src/words/mod.rs", "pub(crate) mod kind;\n"),
        (
            "src/words/kind.rs",
            "use std::fmt::Display;\n\npub enum Kind {}\n\n#[cfg(test)]\nmod tests {\n    use crate::call::run;\n}\n",
        ),
    ]
    .map(|(file, text)| (PathBuf::from(file), text))
    .into()
}

fn found_in(tree: &BTreeMap<PathBuf, &'static str>) -> Vec<Finding> {
    let layers = ["call", "session", "words"].map(str::to_owned);
    findings(tree, Path::new("src/lib.rs"), Some(&layers)).unwrap()
}

#[test]
fn a_sound_tree_has_nothing_wrong_and_its_tests_may_import_what_they_like() {
    assert_eq!(told(&found_in(&sound())), [""; 0]);
}

#[test_case("use crate::call::run;\n", 1, "crate::call::run", "src/call/drive.rs"; "a use, through the door that the layer has")]
#[test_case("use super::super::call::{drive as other};\n", 1, "super::super::call::drive", "src/call/drive.rs"; "a use from where it stands, in braces")]
#[test_case("\nfn f() {\n    crate::call::drive::run();\n}\n", 3, "crate::call::drive::run", "src/call/drive.rs"; "a path where it is used")]
#[test_case("fn f() {\n    assert!(crate::call::run() == ());\n}\n", 2, "crate::call::run", "src/call/drive.rs"; "a path in a macro")]
#[test_case("mod inner {\n    use crate::call::run;\n}\n", 2, "crate::call::run", "src/call/drive.rs"; "a module within the file")]
#[test_case("fn f(_: impl Fn(crate::session::Session)) {}\n", 1, "crate::session::Session", "src/session/handle.rs"; "a type")]
fn what_runs_upwards_is_found(text: &'static str, line: usize, import: &str, to: &str) {
    let mut tree = sound();
    tree.insert("src/words/kind.rs".into(), text);
    let found = found_in(&tree);
    let upwards: Vec<_> = found.iter().filter(|finding| finding.rule == DOWNWARDS).collect();
    let layer = to.split('/').nth(1).unwrap();
    let problem = format!("imports from {to}, up from layer words to {layer}");
    let (file, import) = (PathBuf::from("src/words/kind.rs"), import.to_owned());
    assert_eq!(upwards, [&Finding { file, line, import, problem, rule: DOWNWARDS }]);
    assert!(upwards[0].to_string().starts_with(&format!("src/words/kind.rs:{line}: `")), "{}", upwards[0]);
}

#[test]
fn a_circle_within_a_layer_is_found_with_each_of_its_imports() {
    let mut tree = sound();
    tree.insert("src/call/mod.rs".into(), "mod drive;\nmod record;\n");
    tree.insert("src/call/drive.rs".into(), "use super::record::Record;\npub(crate) fn run(_: Record) {}\n");
    tree.insert(
        "src/call/record.rs".into(),
        "pub(crate) struct Record;\n\nfn f() {\n    super::drive::run(Record);\n}\n",
    );
    let found = found_in(&tree);
    let places: Vec<_> =
        found.iter().map(|finding| (finding.file.to_str().unwrap(), finding.line, finding.rule)).collect();
    assert_eq!(places, [("src/call/drive.rs", 1, NO_CIRCLES), ("src/call/record.rs", 4, NO_CIRCLES)]);
    assert!(found[0].problem.contains("src/call/record.rs"), "{}", found[0]);
}

#[test]
fn a_folder_that_the_page_does_not_name_is_found() {
    let mut tree = sound();
    tree.insert("src/lib.rs".into(), "mod call;\nmod session;\nmod words;\nmod extra;\n");
    tree.insert("src/extra.rs".into(), "");
    let found = found_in(&tree);
    assert_eq!(told(&found), [format!("src/extra.rs:0: `extra` is no layer that the page names ({DOWNWARDS})")]);
}

#[test]
fn the_root_of_the_crate_stands_above_all() {
    let mut tree = sound();
    tree.insert(
        "src/lib.rs".into(),
        "mod call;\nmod session;\nmod words;\n\npub use words::kind::Kind;\npub fn all() {}\n",
    );
    // A name that it only passes on is imported from where it is.
    tree.insert("src/session/handle.rs".into(), "use crate::Kind;\n\npub(crate) struct Session(Kind);\n");
    assert_eq!(told(&found_in(&tree)), [""; 0]);
    tree.insert("src/session/handle.rs".into(), "pub(crate) struct Session;\n\nfn f() {\n    crate::all();\n}\n");
    assert_eq!(found_in(&tree).len(), 1);
}

#[test]
fn the_page_names_the_layers_from_the_top() {
    let page = "# A\n\n| `no` | x |\n\n## Layers\n\n| layer | knows |\n| --- | --- |\n| `call` | a |\n| `words` | b |\n\n## More\n\n| `no` | x |\n";
    assert_eq!(order::of(page).unwrap(), ["call", "words"]);
    assert!(order::of("# A\n").is_err());
}
