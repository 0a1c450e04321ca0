//! Random fault scripts, random concurrent calls, under paused time: the promises hold in every one.
//!
//! `ONCEWIRE_SCRIPTED_RUNS` says how many (2,000), `ONCEWIRE_SEED` where to begin (a fresh seed; printed). A run that fails is made smaller
//! and printed as JSON; `ONCEWIRE_SCRIPT` with that JSON, or a file that holds it, runs it again. `ONCEWIRE_SURVEY` has all runs made, whatever
//! fails, and counts what does not hold, each with a seed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod lifecycle;
mod random;
mod refusal;
mod run;
mod script;
mod server;
mod shrink;

use std::collections::BTreeMap;

use crate::check::Precision;
use crate::script::Script;

/// Every request of a run of it, in order, in words.
fn story(script: &Script) -> String {
    let Ok(course) = run::run(script) else { return String::new() };
    let line = |entry: &oncewire::transport::scripted::Entry| {
        let at = |moment: tokio::time::Instant| moment.duration_since(course.began).as_millis();
        let (method, id, session) = (entry.method(), entry.id(), entry.session());
        let (status, over) =
            (entry.status.map(|status| status.as_u16()), entry.over.map(|(moment, over)| (at(moment), over)));
        let executed = course.executions.iter().any(|run| Some(run.id) == id);
        format!("{} {method} {id:?} {session:?} taken {} ran {executed} {status:?} {over:?}", at(entry.at), entry.taken)
    };
    course.entries.iter().map(line).collect::<Vec<_>>().join("\n  ")
}

/// # Errors
/// What does not hold.
fn attempt(script: &Script) -> Result<Precision, Vec<String>> {
    let course = run::run(script).map_err(|problem| vec![problem])?;
    check::check(script, &course)
}

/// What does not hold, without the numbers that differ from script to script.
fn kind(wrong: &str) -> String {
    wrong.replace(|character: char| character.is_ascii_digit(), "").chars().take(40).collect()
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn fail(script: &Script, wrong: &[String], whence: &str) -> ! {
    let json = serde_json::to_string(script).unwrap();
    let smallest = shrink::shrink(script.clone(), wrong);
    let still = attempt(&smallest).err().unwrap_or_default();
    panic!(
        "{whence}\n  {}\nthe script: ONCEWIRE_SCRIPT='{json}'\nthe smallest that fails: ONCEWIRE_SCRIPT='{}'\n{smallest:#?}\n  {}\n  {}",
        wrong.join("\n  "),
        serde_json::to_string(&smallest).unwrap(),
        still.join("\n  "),
        story(&smallest),
    );
}

#[test]
fn the_promises_hold_in_every_run() {
    if let Ok(given) = std::env::var("ONCEWIRE_SCRIPT") {
        let json = std::fs::read_to_string(&given).unwrap_or(given);
        let script: Script = serde_json::from_str(&json).unwrap();
        if let Err(wrong) = attempt(&script) {
            fail(&script, &wrong, "the given script");
        }
        return;
    }
    let runs = number("ONCEWIRE_SCRIPTED_RUNS").unwrap_or(2_000);
    let seed = number("ONCEWIRE_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("{runs} runs, ONCEWIRE_SEED={seed}");
    let began = std::time::Instant::now();
    let mut total = Precision::default();
    let survey = std::env::var_os("ONCEWIRE_SURVEY").is_some();
    let mut surveyed: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for run in 0..runs {
        // Each run has a seed of its own, so that it can be had alone.
        let own = seed.wrapping_add(run);
        let script = Script::random(&mut fastrand::Rng::with_seed(own));
        match attempt(&script) {
            Ok(precision) => total.add(precision),
            Err(wrong) if survey => {
                wrong.iter().for_each(|wrong| surveyed.entry(kind(wrong)).or_insert((0, own)).0 += 1);
            }
            Err(wrong) => {
                fail(&script, &wrong, &format!("run {run} of {runs}: ONCEWIRE_SEED={own} ONCEWIRE_SCRIPTED_RUNS=1"));
            }
        }
    }
    println!(
        "{} calls, {} requests in {:?}; of {} failed attempts that never ran, {} say not_executed",
        total.calls,
        total.requests,
        began.elapsed(),
        total.never_ran,
        total.proven,
    );
    let surveyed: Vec<_> =
        surveyed.iter().map(|(kind, (times, seed))| format!("{times} times, {seed}: {kind}")).collect();
    assert!(surveyed.is_empty(), "{}", surveyed.join("\n"));
}
