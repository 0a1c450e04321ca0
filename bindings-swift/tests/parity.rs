//! The package says what the core says: every option, method and word of the core is there, under its name in camelCase. Read from the
//! sources, since a name that is missing on one side breaks no build.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn source(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

/// The names of the functions that are declared between two lines, by what comes before the name.
fn functions<'a>(text: &'a str, begin: &str, prefixes: &[&str]) -> BTreeSet<&'a str> {
    let at = text.find(begin).unwrap_or_else(|| panic!("there is no {begin}"));
    let block = text.get(at..).and_then(|rest| rest.split("\n}\n").next()).unwrap_or_default();
    let name = |line: &'a str| {
        let line = line.trim_start();
        let rest = prefixes.iter().find_map(|prefix| line.strip_prefix(prefix))?;
        rest.split(['(', '<']).next()
    };
    block.lines().filter_map(name).collect()
}

#[test]
fn every_option_of_the_builder_is_an_option_of_the_package() {
    let builder = source("../core/src/client/builder.rs");
    let options = source("Sources/Oncewire/Options.swift");
    let mut names = functions(&builder, "impl ClientBuilder {", &["pub fn "]);
    // `capabilities` is in Rust alone so far, for programs that stand between a host and a server; docs/options.md says so.
    for other in ["connect", "build", "exchange", "capabilities"] {
        names.remove(other);
    }
    assert!(names.len() > 35, "{names:?}");
    for name in names {
        let there = match name {
            // A token that does not change is a provider that always gives it.
            "token" | "token_provider" => "token",
            "header" => "headers",
            // What the environment of another language's programs names; there is none such here.
            "trusted_files" => "root_certificates",
            "proxy" | "no_proxy" => "proxy",
            "http1_only" | "http2_only" => "http_version",
            name => name,
        };
        let there = camel_case(there);
        assert!(options.contains(&format!("public var {there}:")), "{name}: no `{there}` in Options.swift");
    }
}

#[test]
fn every_method_of_the_client_is_a_method_of_the_package() {
    let client = source("../core/src/client/mod.rs");
    let package = source("Sources/Oncewire/Client.swift") + &source("Sources/Oncewire/Methods.swift");
    let mut names = functions(&client, "impl Client {", &["pub fn ", "pub async fn "]);
    // Their other halves are what the package calls: arguments as JSON text.
    // `notify` is in Rust alone so far, as `capabilities` is.
    for other in ["builder", "call_tool_json", "get_prompt_json", "request_json", "notify"] {
        names.remove(other);
    }
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let there = camel_case(name);
        let found = [format!("func {there}("), format!("var {there}:")].iter().any(|there| package.contains(there));
        assert!(found, "{name}: no `{there}` in the package");
    }
}

/// The words of one enum in the core: `Variant => "word"`.
fn words<'a>(text: &'a str, name: &str) -> Vec<&'a str> {
    let at = text.find(&format!("    {name} {{\n")).unwrap_or_else(|| panic!("there are no words of {name}"));
    let block = text.get(at..).and_then(|rest| rest.split("    }\n").next()).unwrap_or_default();
    block.lines().filter_map(|line| line.split('"').nth(1)).collect()
}

#[test]
fn every_word_of_the_verdict_is_a_word_of_the_package() {
    let core = source("../core/src/vocabulary/outcome.rs");
    let package = source("Sources/Oncewire/Words.swift");
    for name in ["Execution", "Proof", "Kind", "Phase"] {
        let words = words(&core, name);
        assert!(words.len() > 2, "{name}: {words:?}");
        for word in words {
            let found = [format!("{name}(rawValue: \"{word}\")"), format!("= \"{word}\""), format!("case {word}\n")];
            assert!(found.iter().any(|there| package.contains(there)), "{name}: no {word:?} in Words.swift");
        }
    }
}

#[test]
fn every_event_is_an_event_of_the_package() {
    let core = source("../core/src/vocabulary/event.rs");
    let package = source("Sources/Oncewire/Events.swift");
    let begin = core.find("Self::Connecting => ").expect("the names of the events");
    let names: Vec<_> = core
        .get(begin..)
        .unwrap_or_default()
        .lines()
        .take_while(|line| line.contains("=>"))
        .filter_map(|line| line.split('"').nth(1))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(package.contains(&format!("EventName(rawValue: \"{name}\")")), "no {name:?} in Events.swift");
    }
}
