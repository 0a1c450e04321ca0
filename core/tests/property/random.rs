//! Random scripts.

use fastrand::Rng;

use crate::refusal::{Demand, Gate, Id, Refuses, Told, Words};
use crate::script::{
    CallPlan, Callee, Client, Dial, Era, Fault, Happening, Listening, Nature, Planned, Recovery, Refusal, Resend,
    Script, Target, Trust, What,
};

/// Those by which servers and what stands before them say no, those that prove nothing by anybody's reckoning, and successes that are none.
const STATUSES: [u16; 33] = [
    400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411, 413, 414, 415, 417, 418, 421, 422, 425, 426, 429, 431,
    500, 501, 502, 503, 504, 520, 200, 202, 204, 300,
];
/// The ones that mean something to the client, and so are tried more often.
const MEANT: [u16; 8] = [400, 401, 403, 404, 410, 422, 429, 503];

fn pick<T: Copy>(random: &mut Rng, choices: &[T]) -> T {
    choices[random.usize(..choices.len())]
}

fn chance(random: &mut Rng, percent: u32) -> bool {
    random.u32(..100) < percent
}

/// Who speaks what: the handshake era, the modern one, or a server that changes over while the client lives.
#[derive(Clone, Copy)]
struct Eras {
    client: Era,
    modern: bool,
    changes: bool,
}

impl Eras {
    fn random(random: &mut Rng) -> Self {
        let (client, modern, changes) = match random.u32(..20) {
            0..5 => (Era::Legacy, false, false),
            5..8 => (Era::Auto, false, false),
            8..11 => (Era::Modern, true, false),
            11..14 => (Era::Auto, true, false),
            _ => (Era::Auto, random.bool(), true),
        };
        Self { client, modern, changes }
    }

    /// Can this kind of request come up at all?
    fn have(self, target: Target) -> bool {
        match target {
            Target::Discover => self.client != Era::Legacy,
            Target::Listen => self.modern || self.changes,
            Target::Initialize => self.client != Era::Modern,
            Target::Call => true,
            _ => !self.modern || self.changes,
        }
    }
}

impl Script {
    pub(crate) fn random(random: &mut Rng) -> Self {
        let eras = Eras::random(random);
        let recovery = match random.u32(..10) {
            0 => Recovery::Surface,
            1 => Recovery::Off,
            _ => Recovery::Auto,
        };
        let client = Client {
            recovery,
            trust: pick(random, &[Trust::Hinted, Trust::Hinted, Trust::ReadOnly, Trust::None]),
            listen: chance(random, 50),
            token: chance(random, 30),
            era: eras.client,
        };
        let server = Nature {
            stateful: chance(random, 85),
            streams: chance(random, 50),
            listener: pick(random, &[Listening::NotOffered, Listening::Held, Listening::Shuts]),
            refusal: pick(
                random,
                &[
                    Refusal::NotFoundText,
                    Refusal::NotFoundError,
                    Refusal::NotFoundMadeUp,
                    Refusal::NotFoundEmpty,
                    Refusal::Gone,
                    Refusal::BadRequestWording,
                    Refusal::BadRequestOurId,
                    Refusal::UnavailableWording,
                    Refusal::UnauthorizedWording,
                    Refusal::Unlisted,
                ],
            ),
            ping_ms: pick(random, &[0, 0, 0, 0, 10, 300, 1_900, 2_100]),
            modern: eras.modern,
            asks: (eras.modern || eras.changes) && chance(random, 30),
            rotates: client.token && chance(random, 50),
        };
        let spread = pick(random, &[0, 50, 500, 5_000]);
        let calls = (0..random.usize(1..=8)).map(|_| CallPlan::random(random, spread)).collect();
        let mut faults: Vec<_> = (0..random.usize(0..=8)).map(|_| Planned::random(random, eras)).collect();
        if server.rotates && chance(random, 50) {
            faults.extend([false, true].map(|executes| Planned::unauthorized(random, eras, executes)));
        }
        let mut happenings = Vec::new();
        let gate = Gate::random(random);
        let revoke = What::Revoke { challenge: random.bool() };
        for (what, percent) in [
            (What::Restart, 30),
            (What::Restart, 10),
            (What::Recover, 10),
            (What::Close, 12),
            (What::Shut(gate), 10),
            (revoke, if client.token { 40 } else { 2 }),
        ] {
            if chance(random, percent) {
                happenings.push(Happening { at_ms: random.u64(..=spread + 200), what });
            }
        }
        for _ in 0..if eras.changes { random.usize(1..=2) } else { 0 } {
            happenings.push(Happening { at_ms: random.u64(..=spread + 200), what: What::ChangeEra });
        }
        let dropped = chance(random, 20);
        Self { seed: random.u64(..), client, server, faults, happenings, dropped, calls }
    }
}

impl CallPlan {
    fn random(random: &mut Rng, spread: u64) -> Self {
        use Callee::{List, LogLevel, Nudge, Peek, Poke, Prompt, Raw, Read, Subscribe};
        Self {
            at_ms: random.u64(..=spread),
            what: pick(random, &[Poke, Poke, Poke, Peek, Nudge, Nudge, Read, Prompt, List, Raw, LogLevel, Subscribe]),
            resend: match random.u32(..10) {
                0 => Resend::Always,
                1 => Resend::Never,
                _ => Resend::Default,
            },
            timeout_ms: chance(random, 25).then(|| random.u64(1..5_000)),
            idle_ms: chance(random, 10).then(|| random.u64(1..3_000)),
            cancel_ms: chance(random, 20).then(|| random.u64(1..3_000)),
        }
    }
}

impl Planned {
    fn random(random: &mut Rng, eras: Eras) -> Self {
        let target = match random.u32(..100) {
            0..4 => Target::Initialize,
            4..8 => Target::Discover,
            8..13 => Target::Initialized,
            13..68 => Target::Call,
            68..80 => Target::Ping,
            80..84 => Target::Notification,
            84..87 => Target::Get,
            87..89 => Target::Listen,
            89..97 => Target::Resume,
            _ => Target::Delete,
        };
        let target = match target {
            Target::Initialize if !eras.have(target) => Target::Discover,
            Target::Discover if !eras.have(target) => Target::Initialize,
            Target::Get if !eras.have(target) => Target::Listen,
            Target::Listen if !eras.have(target) => Target::Get,
            target if eras.have(target) => target,
            _ => Target::Call,
        };
        let nth = match target {
            Target::Call => random.usize(..10),
            _ => random.usize(..4),
        };
        let fault = match Fault::random(random, target) {
            Fault::Restart if eras.changes && chance(random, 50) => Fault::ChangeEra,
            fault => fault,
        };
        Self { target, nth, fault }
    }
}

impl Planned {
    /// A good token is refused: by a replica that knows better, or by what stands behind a tool that has run.
    fn unauthorized(random: &mut Rng, eras: Eras, executes: bool) -> Self {
        let target = match pick(random, &[Target::Call, Target::Get, Target::Ping]) {
            target if !executes && eras.have(target) => target,
            _ => Target::Call,
        };
        let nth = random.usize(..if target == Target::Call { 10 } else { 3 });
        let (demand, words) = (Demand::Nothing, Words::Text);
        let told = Told::Slow { after_ms: pick(random, &[0, 20, 100, 500, 1_000]) };
        Self { target, nth, fault: Fault::Refuses(Refuses { executes, status: 401, demand, words, told }) }
    }
}

impl Fault {
    fn random(random: &mut Rng, target: Target) -> Self {
        let executes = chance(random, 60);
        let after_ms = if chance(random, 50) { 0 } else { random.u64(..2_000) };
        let dial = pick(random, &[Dial::Refused, Dial::Unreachable, Dial::Reset, Dial::Timeout, Dial::Dns, Dial::Tls]);
        if target == Target::Resume {
            return match random.u32(..6) {
                0 | 1 => Self::EmptyResume { new_id: executes },
                2 => Self::Refuses(Refuses { executes: false, ..Refuses::random(random) }),
                3 => Self::NeverSent { after_ms, dial },
                4 => Self::Lost { executes: false, after_ms, reset: executes },
                _ => Self::Hang { executes: false, head: executes },
            };
        }
        match random.u32(..34) {
            0..3 => Self::Slow {
                connect_ms: if executes { 0 } else { random.u64(..500) },
                head_ms: after_ms,
                body_ms: random.u64(..20_000),
                ping: chance(random, 30),
            },
            3..6 => Self::NeverSent { after_ms, dial },
            6 => {
                let taken = chance(random, 70);
                Self::RefusedStream { taken, executes: taken && executes }
            }
            7..9 => Self::Lost { executes, after_ms, reset: chance(random, 50) },
            9..20 => Self::Refuses(Refuses { executes, ..Refuses::random(random) }),
            20 | 21 => Self::Cut { executes, event_id: chance(random, 60), orderly: chance(random, 50), after_ms },
            22 => Self::Half { executes },
            23 => Self::Hang { executes, head: chance(random, 50) },
            24 => {
                let status = pick(random, &[301, 302, 303, 307, 308]);
                Self::Redirect { status, same_origin: chance(random, 70), executes }
            }
            25 => Self::Stray { executes, answers: chance(random, 50) },
            26 => Self::Lingers,
            28 => Self::GoneAway { taken: chance(random, 70) },
            27 => Self::TermsRefused { executes, mismatch: chance(random, 50) },
            _ => Self::Restart,
        }
    }
}

impl Words {
    fn random(random: &mut Rng) -> Self {
        let id = pick(random, &[Id::Ours, Id::Null, Id::Missing, Id::MadeUp]);
        pick(
            random,
            &[
                Self::Empty,
                Self::Text,
                Self::Html,
                Self::GatewayJson,
                Self::LostText,
                Self::SoundsLost,
                Self::Error(id),
                Self::Error(id),
                Self::LostError(id),
                Self::LostError(id),
                Self::SoundsLostError(id),
                Self::NoMethod(id),
            ],
        )
    }
}

impl Refuses {
    fn random(random: &mut Rng) -> Self {
        let status = if random.bool() { pick(random, &MEANT) } else { pick(random, &STATUSES) };
        let demand = match (status, random.u32(..10)) {
            (401 | 403, 0..4) => Demand::Challenge,
            (401 | 403, 4) => Demand::Scope,
            (401 | 403, 5) => Demand::Nonce,
            (401 | 403, 6) => Demand::ScopeOfAnother,
            (429 | 503, 0..6) => Demand::RetryAfter { seconds: random.u64(..90) },
            _ => Demand::Nothing,
        };
        let told = match random.u32(..20) {
            0 => Told::Stream,
            1 => Told::Cut,
            2 => Told::Coded,
            3 => Told::TooLarge,
            4 => Told::Slow { after_ms: pick(random, &[100, 1_000, 4_900, 5_100, 20_000]) },
            _ => Told::Whole,
        };
        Self { executes: false, status, demand, words: Words::random(random), told }
    }
}

impl Gate {
    fn random(random: &mut Rng) -> Self {
        let words = match Words::random(random) {
            // A tool may say as little.
            Words::Empty => Words::Html,
            words => words,
        };
        let for_ms = pick(random, &[100, 1_000, 10_000, 100_000]);
        Self { for_ms, status: pick(random, &[403, 404, 429, 503, 502, 421, 400]), words }
    }
}
