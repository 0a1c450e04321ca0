//! Random fault scripts, random concurrent calls, under paused time: the promises hold in every one.
//!
//! `ONCEWIRE_SCRIPTED_RUNS` says how many (2,000), `ONCEWIRE_SEED` where to begin (a fresh seed; printed). A run that fails is made smaller
//! and printed as JSON; `ONCEWIRE_SCRIPT` with that JSON, or a file that holds it, runs it again.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod check;
mod lifecycle;
mod random;
mod run;
mod script;
mod server;
mod shrink;

use crate::check::Precision;
use crate::script::Script;

/// # Errors
/// What does not hold.
fn attempt(script: &Script) -> Result<Precision, Vec<String>> {
    let course = run::run(script).map_err(|problem| vec![problem])?;
    check::check(script, &course)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn fail(script: &Script, wrong: &[String], whence: &str) -> ! {
    let json = serde_json::to_string(script).unwrap();
    let smallest = shrink::shrink(script.clone());
    let still = attempt(&smallest).err().unwrap_or_default();
    panic!(
        "{whence}\n  {}\nthe script: ONCEWIRE_SCRIPT='{json}'\nthe smallest that fails: ONCEWIRE_SCRIPT='{}'\n{smallest:#?}\n  {}",
        wrong.join("\n  "),
        serde_json::to_string(&smallest).unwrap(),
        still.join("\n  "),
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
    for run in 0..runs {
        // Each run has a seed of its own, so that it can be had alone.
        let own = seed.wrapping_add(run);
        let script = Script::random(&mut fastrand::Rng::with_seed(own));
        match attempt(&script) {
            Ok(precision) => total.add(precision),
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
}
