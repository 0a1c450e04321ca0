//! Precision: of the attempts that truly never ran, how many say `not_executed`?
//!
//! A client that always says `may_have_executed` never lies and helps nobody. Here every kind of fault that keeps a request from running meets some
//! calls; the server's ledger says which attempts ran, the client's errors and events what it says of them. The groups:
//!
//! - *certain*: the request never left, or the server denied its stream;
//! - *confirmed*: the server refuses everything of ours alike, and a twin shows it;
//! - *protocol*: only our own login can have caused the refusal;
//! - *raced*: the connection was ended while it was idle, and the request was written before that was seen. Here the race is run again and again;
//! - *alone*: this request was refused and a ping is answered. Before there were twins, such a refusal was taken at its word, and the client ran tools
//!   twice when it was the tool's own. It proves nothing, and `not_executed` must not be said;
//! - *taken*: the server took the whole request and went away, or answered what says nothing. From outside that looks like one that ran.
//!
//! What the probe or a twin can prove, the first four, must be told: the floor is 95 % of them, each kind with the same weight. The other two are no gap
//! that a client could close: they are printed, and are in no floor.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod kinds;
mod measure;
mod refusals;
#[path = "../native/tls_front.rs"]
#[allow(dead_code, reason = "the other test binary uses the rest")]
mod tls_front;

use std::collections::BTreeMap;

use measure::{Group, Tally};
use oncewire_tests::server::Cut;

/// In percent.
const FLOOR: f64 = 95.0;

#[tokio::test]
async fn what_never_ran_is_known_not_to_have_run() {
    let mut tallies: BTreeMap<(Group, String), Tally> = BTreeMap::new();
    for (group, kind, tally) in kinds::all().await {
        tallies.entry((group, kind)).or_default().add(tally);
    }
    println!("| group | fault | attempts that never ran | say `not_executed` |\n| --- | --- | ---: | ---: |");
    for ((group, kind), tally) in &tallies {
        // A race may be won every time.
        assert!(tally.never_ran > 0 || *group == Group::Raced, "{kind}: every attempt ran, or there was none");
        assert_eq!(tally.lies, 0, "{kind}: says not_executed of what ran");
        assert_eq!(group.other_bases(tally), 0, "{kind}: its verdict rests on something else: {tally:?}");
        println!("| {group:?} | {kind} | {} | {:.0} % |", tally.never_ran, tally.percent());
    }
    let of = |wanted: &[Group]| -> (f64, usize) {
        let kinds = tallies.iter().filter(|((group, _), it)| wanted.contains(group) && it.never_ran > 0);
        let shares: Vec<_> = kinds.map(|(_, it)| it.percent()).collect();
        (shares.iter().sum::<f64>() / f64::from(u32::try_from(shares.len()).unwrap()), shares.len())
    };
    let provable = [Group::Certain, Group::Confirmed, Group::Protocol, Group::Raced];
    for group in provable.into_iter().chain([Group::Alone, Group::Taken]) {
        let (share, kinds) = of(&[group]);
        println!("{group:?}: {share:.1} % (mean of {kinds} kinds)");
    }
    let (known, kinds) = of(&provable);
    let (guessed, others) = of(&[Group::Alone, Group::Taken]);
    println!("what can be proved: {known:.1} % (mean of {kinds} kinds); what cannot: {guessed:.1} % (of {others})");
    assert!(known >= FLOOR, "{known:.1} % is below {FLOOR} %");
    assert!(guessed == 0.0, "{guessed:.1} % of what no client can know is said to be known");
}

#[tokio::test]
async fn with_fresh_connection_nobody_loses_the_race() {
    for how in [Cut::Close, Cut::Reset] {
        let tally = kinds::race(false, how, true).await;
        assert_eq!((tally.never_ran, tally.lies), (0, 0), "every call ran");
    }
}
