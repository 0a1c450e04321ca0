//! Files that import each other, directly or by way of others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::findings::{Finding, NO_CIRCLES};
use super::imports::Import;

/// Every import that is part of a circle.
pub(super) fn of(imports: &[Import]) -> Vec<Finding> {
    let mut next: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
    for import in imports {
        next.entry(&import.file).or_default().insert(&import.to_file);
    }
    let leads_back = |import: &&Import| reaches(&next, &import.to_file, &import.file);
    let found = imports.iter().filter(leads_back).map(|import| Finding {
        file: import.file.clone(),
        line: import.line,
        import: import.written.clone(),
        problem: format!("imports from {}, which imports this file, if by way of others", import.to_file.display()),
        rule: NO_CIRCLES,
    });
    found.collect()
}

/// Is there a way from the one file to the other?
fn reaches(next: &BTreeMap<&Path, BTreeSet<&Path>>, from: &Path, to: &Path) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(file) = waiting.pop() {
        if file == to {
            return true;
        }
        if seen.insert(file) {
            waiting.extend(next.get(file).into_iter().flatten());
        }
    }
    false
}
