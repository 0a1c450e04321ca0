//! The state machine of sessions, explored exhaustively: every order in which up to four callers, the flight, the verification and the
//! host can speak, in all three modes of recovery, up to three generations.
//!
//! The world around the machine is modelled as `session/recovery.rs` makes it: a caller wants a session, sends on it, and sees it answered,
//! lost or suspect, or gives up at any point; a flight that was started ends well or badly, also after `Close`; a verification likewise.
//! Nothing of the world is left out by order: whatever can happen next is tried next.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{HashMap, HashSet, VecDeque};

use oncewire::Recovery;
use oncewire::session::state::{Action, Input, Machine, State};

/// The last generation that a flight of the model may bring; so the world is finite.
const LAST: u64 = 4;

/// What one caller is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Caller {
    /// Has not asked yet.
    Before,
    /// Waits for a session.
    Waiting,
    /// Has a request under way on this generation.
    Sent(u64),
    /// Done, failed or gone: for the machine all the same.
    Over,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    machine: Machine,
    callers: Vec<Caller>,
    /// The generation that the flight under way is to bring.
    flight: Option<u64>,
    /// The generations whose verification is under way: that of a session that is retired meanwhile runs out beside the flight.
    verifications: Vec<u64>,
    /// The session that is current for calls.
    current: Option<u64>,
    /// Every generation that was adopted.
    adopted: Vec<u64>,
    retired: Vec<u64>,
    closed: bool,
    /// `recover()` calls that the host may still make.
    recoveries: u8,
}

/// A step of the world, for the path that leads to a fault.
#[derive(Clone, Debug)]
struct Step {
    before: usize,
    what: String,
}

struct Explorer {
    worlds: Vec<World>,
    steps: Vec<Step>,
    seen: HashMap<World, usize>,
    queue: VecDeque<usize>,
    transitions: usize,
}

impl Explorer {
    fn explore(recovery: Recovery, callers: usize) -> Self {
        let first = World {
            machine: Machine::new(recovery),
            callers: vec![Caller::Before; callers],
            flight: None,
            verifications: Vec::new(),
            current: None,
            adopted: Vec::new(),
            retired: Vec::new(),
            closed: false,
            recoveries: 1,
        };
        let mut explorer = Self {
            worlds: vec![first.clone()],
            steps: vec![Step { before: 0, what: "the beginning".to_owned() }],
            seen: HashMap::from([(first, 0)]),
            queue: VecDeque::from([0]),
            transitions: 0,
        };
        while let Some(index) = explorer.queue.pop_front() {
            explorer.expand(index);
        }
        explorer
    }

    fn path(&self, mut index: usize) -> Vec<String> {
        let mut path = Vec::new();
        while index != 0 {
            path.push(self.steps[index].what.clone());
            index = self.steps[index].before;
        }
        path.reverse();
        path
    }

    /// One input of the machine, its actions carried out, the result remembered if it is new.
    fn input(&mut self, from: usize, what: &str, mut world: World, input: Input) {
        let before = world.machine.state();
        let actions = world.machine.step(input);
        let after = world.machine.state();
        if let Err(fault) = carry_out(&mut world, input, before, after, &actions) {
            let path = self.path(from);
            panic!("{fault}\nafter {path:#?}\nthen {what}: {input:?} in {before:?} gives {after:?} and {actions:?}");
        }
        self.arrive(from, what, world);
    }

    fn arrive(&mut self, from: usize, what: &str, mut world: World) {
        self.transitions += 1;
        // Callers are alike: their order says nothing.
        world.callers.sort_unstable();
        if let Err(fault) = standing(&world) {
            panic!("{fault}\nafter {:#?}\nthen {what}: {world:#?}", self.path(from));
        }
        if self.seen.contains_key(&world) {
            return;
        }
        let index = self.worlds.len();
        self.seen.insert(world.clone(), index);
        self.worlds.push(world);
        self.steps.push(Step { before: from, what: what.to_owned() });
        self.queue.push_back(index);
    }

    /// Everything that can happen next.
    fn expand(&mut self, index: usize) {
        let world = self.worlds[index].clone();
        let mut tried = HashSet::new();
        for (number, caller) in world.callers.iter().copied().enumerate() {
            if !tried.insert(caller) {
                continue;
            }
            let with = |next: Caller| {
                let mut world = world.clone();
                world.callers[number] = next;
                world
            };
            match caller {
                Caller::Before | Caller::Waiting => {
                    self.input(index, "a caller wants a session", with(Caller::Waiting), Input::Wanted);
                    if caller == Caller::Waiting {
                        if let (State::Ready(generation), Some(_)) = (world.machine.state(), world.current) {
                            self.arrive(index, "a waiter sends", with(Caller::Sent(generation)));
                        }
                        // The starter of a flight is a waiter like any other.
                        self.arrive(index, "a waiter is cancelled, or told of a failed flight", with(Caller::Over));
                    }
                }
                Caller::Sent(generation) => {
                    self.arrive(index, "a call is answered, or cancelled", with(Caller::Over));
                    self.input(index, "a call sees the loss", with(Caller::Waiting), Input::LossSeen(generation));
                    self.input(index, "a call surfaces the loss", with(Caller::Over), Input::LossSeen(generation));
                    let suspicion = Input::SuspicionSeen(generation);
                    self.input(index, "a call suspects the session", with(Caller::Waiting), suspicion);
                    self.input(index, "a call surfaces a suspicion", with(Caller::Over), suspicion);
                    let distrust = Input::Distrusted(generation);
                    self.input(index, "a call ends, one of too many that were refused", with(Caller::Over), distrust);
                }
                Caller::Over => {}
            }
        }
        if let Some(generation) = world.flight {
            let landed = World { flight: None, ..world.clone() };
            if generation <= LAST {
                self.input(index, "the flight succeeds", landed.clone(), Input::FlightSucceeded);
            }
            // A handshake that fails, an `initialized` that fails: no session either way.
            self.input(index, "the flight fails", landed, Input::FlightFailed);
        }
        for generation in world.verifications.clone() {
            let mut over = world.clone();
            over.verifications.retain(|other| *other != generation);
            self.input(index, "the ping passes", over.clone(), Input::VerificationPassed(generation));
            self.input(index, "the ping is refused", over, Input::VerificationFailed(generation));
        }
        // The listener of any session that was ever adopted may still speak.
        for generation in world.adopted.clone() {
            self.input(index, "the listener is refused", world.clone(), Input::SuspicionSeen(generation));
        }
        if world.recoveries > 0 {
            let asked = World { recoveries: world.recoveries - 1, ..world.clone() };
            self.input(index, "the host recovers", asked, Input::RecoveryAsked);
        }
        if !world.closed {
            self.input(index, "the host closes", World { closed: true, ..world }, Input::Close);
        }
    }
}

/// Does with the actions what `recovery.rs` does, and judges them.
fn carry_out(world: &mut World, input: Input, before: State, after: State, actions: &[Action]) -> Result<(), String> {
    let mut landed = input == Input::FlightSucceeded;
    let wrong = |what: &str| Err(what.to_owned());
    for action in actions {
        match *action {
            Action::StartFlight(generation) => {
                if world.closed {
                    return wrong("a flight starts on a closed client");
                }
                if world.flight.is_some() || world.verifications.iter().any(|verified| *verified >= generation) {
                    return wrong("two flights at once");
                }
                if generation != world.adopted.last().map_or(1, |last| last + 1) {
                    return wrong("a generation is skipped, or comes again");
                }
                world.flight = Some(generation);
            }
            Action::StartVerification(generation) => {
                if world.closed || world.flight.is_some() || world.current != Some(generation) {
                    return wrong("a verification of what is not current");
                }
                if world.verifications.contains(&generation) {
                    return wrong("two verifications of one session at once");
                }
                world.verifications.push(generation);
                world.verifications.sort_unstable();
            }
            Action::Adopt(generation) => {
                if !std::mem::take(&mut landed) || world.closed || world.current.is_some() {
                    return wrong("a session is adopted that no flight brought, or beside another");
                }
                if generation != world.adopted.last().map_or(1, |last| last + 1) {
                    return wrong("an adopted generation is skipped, or comes again");
                }
                world.adopted.push(generation);
                world.current = Some(generation);
            }
            Action::Discard => {
                if !std::mem::take(&mut landed) || !world.closed {
                    return wrong("a session is discarded that no flight brought, or that somebody wants");
                }
            }
            Action::Retire(generation) => {
                if world.current.take() != Some(generation) || world.retired.contains(&generation) {
                    return wrong("a session is retired that is not current, or twice");
                }
                world.retired.push(generation);
            }
        }
    }
    if landed {
        return wrong("a flight brought a session, and nobody took it or ended it");
    }
    let late = match input {
        Input::LossSeen(lost) | Input::SuspicionSeen(lost) | Input::Distrusted(lost) => before.generation() != lost,
        Input::VerificationPassed(verified) | Input::VerificationFailed(verified) => {
            before != State::Verifying(verified)
        }
        _ => false,
    };
    if late && (before != after || !actions.is_empty()) {
        return wrong("what is late changes something");
    }
    if let Input::Distrusted(doubted) = input {
        // Who sees it ends: the next call opens another one, and this one starts nothing.
        let given_up = after == State::Lost(doubted) && actions == [Action::Retire(doubted)];
        if !given_up && (before != after || !actions.is_empty()) {
            return wrong("a session that is not trusted is neither given up nor left alone");
        }
    }
    if matches!(before, State::Closed) && after != State::Closed {
        return wrong("a closed client comes back");
    }
    Ok(())
}

/// What holds in every state of the world.
fn standing(world: &World) -> Result<(), String> {
    let state = world.machine.state();
    let holds = match state {
        State::Idle => world.flight.is_none() && world.adopted.is_empty() && world.current.is_none(),
        State::Connecting => world.flight == Some(1) && world.current.is_none(),
        State::Ready(generation) => world.current == Some(generation) && world.flight.is_none(),
        State::Suspect(generation) => world.current == Some(generation) && world.flight.is_none(),
        State::Verifying(generation) => world.current == Some(generation) && world.verifications.contains(&generation),
        State::Recovering(lost) => world.flight == Some(lost + 1) && world.current.is_none(),
        State::Lost(_) => world.flight.is_none() && world.current.is_none(),
        State::Closed => world.closed && world.current.is_none(),
        _ => false,
    };
    // Every generation is adopted once, in order, and retired once at most.
    let in_order = world.adopted.iter().zip(1..).all(|(adopted, expected)| *adopted == expected);
    if holds && in_order { Ok(()) } else { Err(format!("{state:?} does not match the world")) }
}

/// From every state without a close, whatever became of it, a caller gets a session if the flights go well from here on.
fn no_state_is_a_dead_end(explorer: &Explorer, recovery: Recovery) {
    for (index, world) in explorer.worlds.iter().enumerate() {
        let mut world = world.clone();
        if world.closed || world.adopted.len() as u64 >= LAST {
            continue;
        }
        for _ in 0..8 {
            if let State::Ready(_) = world.machine.state() {
                break;
            }
            let input = match (world.flight.take(), world.machine.state()) {
                (Some(_), _) => Input::FlightSucceeded,
                (None, State::Verifying(generation)) => Input::VerificationFailed(generation),
                (None, State::Lost(_)) if recovery == Recovery::Surface => Input::RecoveryAsked,
                _ => Input::Wanted,
            };
            let (before, actions) = (world.machine.state(), world.machine.step(input));
            world.verifications.clear();
            let after = world.machine.state();
            carry_out(&mut world, input, before, after, &actions).unwrap();
        }
        let state = world.machine.state();
        assert!(matches!(state, State::Ready(_)), "{state:?} is a dead end, after {:#?}", explorer.path(index));
    }
}

/// The states and transitions of all numbers of callers in this mode.
fn explored(recovery: Recovery) -> (usize, usize) {
    let mut total = (0, 0);
    for callers in 0..=4 {
        let explorer = Explorer::explore(recovery, callers);
        no_state_is_a_dead_end(&explorer, recovery);
        println!(
            "{recovery:?}, {callers} callers: {} states, {} transitions",
            explorer.worlds.len(),
            explorer.transitions
        );
        total.0 += explorer.worlds.len();
        total.1 += explorer.transitions;
    }
    total
}

#[test]
fn every_interleaving_with_automatic_recovery_keeps_the_promises() {
    let (states, _) = explored(Recovery::Auto);
    assert!(states > 10_000, "{states} states: the model has lost its freedom");
}

#[test]
fn every_interleaving_with_surfaced_losses_keeps_the_promises() {
    let (states, _) = explored(Recovery::Surface);
    assert!(states > 1_000, "{states} states: the model has lost its freedom");
}

#[test]
fn every_interleaving_without_recovery_keeps_the_promises() {
    let (states, _) = explored(Recovery::Off);
    assert!(states > 1_000, "{states} states: the model has lost its freedom");
}

#[test]
fn a_session_that_is_not_trusted_is_given_up_if_the_client_replaces_sessions_and_nobody_asks_it() {
    fn ready(recovery: Recovery) -> Machine {
        let mut machine = Machine::new(recovery);
        machine.step(Input::Wanted);
        machine.step(Input::FlightSucceeded);
        assert_eq!(machine.state(), State::Ready(1));
        machine
    }
    fn suspect(recovery: Recovery) -> Machine {
        let mut machine = ready(recovery);
        machine.step(Input::SuspicionSeen(1));
        machine
    }
    let states: [fn(Recovery) -> Machine; 2] = [ready, suspect];
    for machine in states {
        let mut auto = machine(Recovery::Auto);
        assert_eq!(auto.step(Input::Distrusted(1)), [Action::Retire(1)]);
        assert_eq!(auto.state(), State::Lost(1));
        assert_eq!(auto.step(Input::Distrusted(1)), [], "it is given up once");
        assert_eq!(auto.step(Input::Wanted), [Action::StartFlight(2)], "the next call opens another one");
        for recovery in [Recovery::Surface, Recovery::Off] {
            let mut kept = machine(recovery);
            let before = kept.state();
            assert_eq!(kept.step(Input::Distrusted(1)), [], "{recovery:?}");
            assert_eq!(kept.state(), before, "{recovery:?}");
        }
    }
    // The ping under way will tell.
    let mut verifying = suspect(Recovery::Auto);
    verifying.step(Input::Wanted);
    assert_eq!(verifying.state(), State::Verifying(1));
    assert_eq!(verifying.step(Input::Distrusted(1)), []);
    assert_eq!(verifying.state(), State::Verifying(1));
}
