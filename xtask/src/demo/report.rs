//! What the demo prints, and the count of what held and what did not.

use std::fmt::Display;

use super::watched::Seen;

/// The output of one run.
#[derive(Debug, Default)]
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    step: usize,
    left_out: Vec<String>,
}

impl Report {
    /// A server begins.
    pub(crate) fn server(&mut self, title: &str) {
        self.step = 0;
        println!();
        println!("== {title}");
    }

    /// A server is not shown.
    pub(crate) fn left_out(&mut self, title: &str, why: &str) {
        println!();
        println!("== {title}: left out, since {why}");
        self.left_out.push(format!("{title}: {why}"));
    }

    /// A step begins.
    pub(crate) fn step(&mut self, title: &str) {
        self.step += 1;
        println!();
        println!("{:>2}. {title}", self.step);
    }

    /// What a client saw of one call.
    pub(crate) fn client(&self, seen: &Seen) {
        println!("    client  {seen}");
        for event in &seen.events {
            println!("     event  {event}");
        }
    }

    /// What the server wrote down.
    pub(crate) fn ledger(&self, said: impl Display) {
        println!("    ledger  {said}");
    }

    /// Something that must hold.
    pub(crate) fn check(&mut self, what: impl Display, holds: bool) {
        if holds {
            self.passed += 1;
            println!("        ok  {what}");
        } else {
            self.failed += 1;
            println!("     WRONG  not so: {what}");
        }
    }

    /// Two things that must be the same.
    pub(crate) fn check_equal<T: PartialEq + std::fmt::Debug>(&mut self, what: impl Display, seen: T, right: T) {
        if seen == right {
            self.check(what, true);
        } else {
            self.check(format_args!("{what} (seen {seen:?}, right is {right:?})"), false);
        }
    }

    /// The closing lines; true if all held.
    pub(crate) fn close(&self) -> bool {
        println!();
        for line in &self.left_out {
            println!("left out: {line}");
        }
        println!("demo: {} passed, {} failed", self.passed, self.failed);
        self.failed == 0 && self.passed > 0
    }
}

/// A count in words.
pub(crate) fn times(count: usize) -> String {
    match count {
        0 => "not at all".into(),
        1 => "once".into(),
        2 => "twice".into(),
        _ => format!("{count} times"),
    }
}
