//! Every file in `vectors/` is a vector, and a judge that always says yes would be noticed.

use oncewire_tests::vector::{Language, all, for_language};

#[test]
fn every_file_is_a_vector_and_every_case_is_covered() {
    let vectors = all().unwrap_or_else(|error| panic!("{error}"));
    let covered: std::collections::BTreeSet<_> = vectors.iter().flat_map(|vector| vector.cases.clone()).collect();
    let cases = "S01 S03 S05 S06 S08 S11 S13 S15 S17 S19 S21 S23 S27 S29 S31 S32 S33 S34 S35 S36 S37 S38";
    let modern = "M01 M02 M03 M04 M05 M06 M07 M08 M09 M10";
    for case in cases.split(' ').chain(modern.split(' ')) {
        assert!(covered.contains(case), "no vector covers {case}");
    }
    let mut names: Vec<_> = vectors.iter().map(|vector| &vector.name).collect();
    names.dedup();
    assert_eq!(names.len(), vectors.len(), "two cases share a name");
}

#[test]
fn a_language_gets_what_is_meant_for_it() {
    let (rust, node) = (for_language(Language::Rust).unwrap(), for_language(Language::Node).unwrap());
    assert!(node.len() > 100 && rust.len() > node.len(), "{} and {}", rust.len(), node.len());
    assert!(rust.iter().any(|vector| vector.name.starts_with("s23_split_everywhere")));
    assert!(!node.iter().any(|vector| vector.name.starts_with("s23_split_everywhere")));
}
