//! Makes a script that fails smaller, as long as it still fails: fewer faults, fewer calls, fewer happenings, plainer settings.

use std::collections::HashSet;

use crate::refusal::{Demand, Refuses, Told};
use crate::script::{CallPlan, Client, Era, Fault, Listening, Nature, Recovery, Resend, Script, Trust};
use crate::{attempt, kind};

/// A race that depends on more than the script may need a few tries to show.
const TRIES: usize = 3;

/// Does it fail in the same way? A smaller script may fail in another, which is another fault, or none.
fn fails(script: &Script, wrong: &[String]) -> bool {
    let kinds: HashSet<_> = wrong.iter().map(|wrong| kind(wrong)).collect();
    (0..TRIES).any(|_| attempt(script).is_err_and(|wrong| wrong.iter().any(|wrong| kinds.contains(&kind(wrong)))))
}

/// The smallest script found.
pub(crate) fn shrink(mut script: Script, wrong: &[String]) -> Script {
    loop {
        let smaller = candidates(&script).into_iter().find(|candidate| *candidate != script && fails(candidate, wrong));
        match smaller {
            Some(smaller) => script = smaller,
            None => return script,
        }
    }
}

fn candidates(script: &Script) -> Vec<Script> {
    let mut candidates = Vec::new();
    for index in 0..script.calls.len() {
        let mut smaller = script.clone();
        smaller.calls.remove(index);
        candidates.push(smaller);
    }
    for index in 0..script.faults.len() {
        let mut smaller = script.clone();
        smaller.faults.remove(index);
        candidates.push(smaller);
    }
    for index in 0..script.happenings.len() {
        let mut smaller = script.clone();
        smaller.happenings.remove(index);
        candidates.push(smaller);
    }
    for index in 0..script.calls.len() {
        let plainer: [fn(&mut CallPlan); 5] = [
            |call| call.idle_ms = None,
            |call| call.timeout_ms = None,
            |call| call.cancel_ms = None,
            |call| call.resend = Resend::Default,
            |call| call.at_ms = 0,
        ];
        for plain in plainer {
            let mut smaller = script.clone();
            plain(&mut smaller.calls[index]);
            candidates.push(smaller);
        }
    }
    for index in 0..script.faults.len() {
        let mut smaller = script.clone();
        smaller.faults[index].nth = smaller.faults[index].nth.saturating_sub(1);
        candidates.push(smaller);
    }
    for index in 0..script.faults.len() {
        if let Fault::Refuses(refuses) = &script.faults[index].fault {
            let plain = Refuses { demand: Demand::Nothing, told: Told::Whole, ..refuses.clone() };
            let mut smaller = script.clone();
            smaller.faults[index].fault = Fault::Refuses(plain);
            candidates.push(smaller);
        }
    }
    candidates.push(Script { dropped: false, ..script.clone() });
    let plainer: [fn(&mut Client, &mut Nature); 8] = [
        |_, server| server.ping_ms = 0,
        |client, _| client.token = false,
        |client, _| client.listen = false,
        |client, _| client.recovery = Recovery::Auto,
        |client, _| client.trust = Trust::Hinted,
        |_, server| server.listener = Listening::NotOffered,
        |_, server| server.asks = false,
        // One way only, so that it ends.
        |client, server| {
            if client.era == Era::Auto {
                client.era = if server.modern { Era::Modern } else { Era::Legacy };
            }
        },
    ];
    for plain in plainer {
        let mut smaller = script.clone();
        plain(&mut smaller.client, &mut smaller.server);
        if smaller.client.era != script.client.era && script.changes_era() {
            // A client of one era alone is lost with a server of the other.
            continue;
        }
        candidates.push(smaller);
    }
    candidates
}
