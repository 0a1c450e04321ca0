//! Runs a scenario under many schedules, and counts how many different ones there were.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, Runner};

/// Runs of each scheduler for one scenario, unless more are asked for.
const RUNS: usize = 10_000;
/// How many points of the code have to come in the wrong order for the deepest fault that PCT looks for.
const PCT_DEPTH: usize = 3;
/// Fixed, so that a failure comes again.
const SEED: u64 = 20_251_125;
/// The included code is not written for the small stacks of shuttle.
const STACK: usize = 256 * 1_024;

/// Runs the scenario under random schedules and under those of PCT. Panics, with the schedule, if one of them fails or deadlocks.
pub(crate) fn explore(name: &str, scenario: fn()) {
    let factor = std::env::var("ONCEWIRE_INTERLEAVINGS").map_or(1, |factor| factor.parse::<usize>().unwrap());
    let runs = RUNS * factor;
    let began = Instant::now();
    let different = Arc::default();
    let random = run(Counting::new(RandomScheduler::new_from_seed(SEED, runs), &different), scenario);
    let pct = run(Counting::new(PctScheduler::new_from_seed(SEED, PCT_DEPTH, runs), &different), scenario);
    let different = different.lock().unwrap_or_else(PoisonError::into_inner).len();
    println!(
        "{name}: {random} random and {pct} PCT schedules, {different} different orders, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    assert!(different > RUNS / 2, "too few different orders to tell anything: {different}");
}

fn run<S: Scheduler + 'static>(scheduler: S, scenario: fn()) -> usize {
    let mut config = Config::new();
    config.stack_size = STACK;
    // It says that weak atomics are taken for strong ones; the included code has none.
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(scenario)
}

/// Hashes the order in which each run let the tasks go on.
struct Counting<S> {
    inner: S,
    order: DefaultHasher,
    different: Arc<Mutex<HashSet<u64>>>,
}

impl<S> Counting<S> {
    fn new(inner: S, different: &Arc<Mutex<HashSet<u64>>>) -> Self {
        Self { inner, order: DefaultHasher::new(), different: Arc::clone(different) }
    }
}

impl<S: Scheduler> Scheduler for Counting<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let order = std::mem::take(&mut self.order).finish();
        if order != DefaultHasher::new().finish() {
            self.different.lock().unwrap_or_else(PoisonError::into_inner).insert(order);
        }
        self.inner.new_execution()
    }

    fn next_task(&mut self, runnable: &[&Task], current: Option<TaskId>, is_yielding: bool) -> Option<TaskId> {
        let next = self.inner.next_task(runnable, current, is_yielding);
        // Where there is no choice there is no order.
        if runnable.len() > 1
            && let Some(next) = next
        {
            usize::from(next).hash(&mut self.order);
        }
        next
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}
