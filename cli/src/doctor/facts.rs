//! What was seen of a server, room by room. A room that was not looked into is missing.

use std::collections::BTreeMap;

use serde::Serialize;

/// What was seen.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Facts {
    /// The way to the server.
    pub(crate) reach: Option<Reach>,
    /// Which era it speaks, and what it says of itself.
    pub(crate) era: Option<Era>,
    /// What becomes of sessions.
    pub(crate) session: Option<Session>,
    /// How answers come.
    pub(crate) streams: Option<Streams>,
    /// How much at once.
    pub(crate) limits: Option<Limits>,
    /// Who is let in.
    pub(crate) auth: Option<Auth>,
    /// What its tools say of themselves.
    pub(crate) tools: Option<Tools>,
    /// What becomes of silence (`--slow`).
    pub(crate) idle: Option<Idle>,
    /// What a process does, of a server on stdio.
    pub(crate) process: Option<Process>,
}

/// The way to the server.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Reach {
    /// The proxy of options or environment; then addresses and TLS were not looked at.
    pub(crate) proxy: Option<String>,
    /// How long the name took.
    pub(crate) lookup_ms: Option<u64>,
    /// Each address that the name has, eight at most.
    pub(crate) addresses: Vec<Address>,
    /// TLS, of the first address that has it.
    pub(crate) tls: Option<Tls>,
    /// `1.1` or `2`: what the client and the server spoke.
    pub(crate) http: Option<String>,
    /// The header `Server`.
    pub(crate) server: Option<String>,
    /// The header `Via`, and others by which those on the way make themselves known.
    pub(crate) via: Vec<String>,
    /// What a redirect said.
    pub(crate) redirect: Option<Redirect>,
}

/// One address.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Address {
    /// The address.
    pub(crate) ip: String,
    /// 4 or 6.
    pub(crate) family: u8,
    /// How long a connection took.
    pub(crate) connect_ms: Option<u64>,
    /// Why there is none.
    pub(crate) failure: Option<String>,
}

/// What TLS agreed on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Tls {
    /// `1.2` or `1.3`
    pub(crate) version: String,
    /// `h2` or `http/1.1`
    pub(crate) alpn: Option<String>,
    /// How long the certificate is good yet.
    pub(crate) certificate_days_left: Option<i64>,
    /// How long the handshake took.
    pub(crate) handshake_ms: u64,
}

/// A redirect.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Redirect {
    /// The status.
    pub(crate) status: u16,
    /// Where to, without secrets.
    pub(crate) to: String,
    /// The client goes there by itself.
    pub(crate) followed: bool,
}

/// What a server answered, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Answer {
    /// The status; none if nothing came.
    pub(crate) status: Option<u16>,
    /// The content type.
    pub(crate) content_type: Option<String>,
    /// The code of a JSON-RPC error.
    pub(crate) code: Option<i64>,
    /// Its message, or the beginning of the body.
    pub(crate) says: Option<String>,
    /// By which line of the table in `docs/retry-safety.md` it is understood, were it the answer to a call.
    pub(crate) line: String,
    /// The class that this is in the core.
    pub(crate) class: &'static str,
    /// Why there is no answer.
    pub(crate) failure: Option<String>,
}

/// Which era, and what a server says of itself.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Era {
    /// `legacy` or `modern`: what the client speaks with it.
    pub(crate) speaks: Option<&'static str>,
    /// The answer to `server/discover`.
    pub(crate) discover: Option<Answer>,
    /// The versions that it lists.
    pub(crate) versions: Vec<String>,
    /// The version that was agreed on.
    pub(crate) version: Option<String>,
    /// What a version gets that does not exist: in `initialize` the version that is offered instead.
    pub(crate) unknown_version: Option<Answer>,
    /// The version that `initialize` offered in the place of one that does not exist.
    pub(crate) offered_instead: Option<String>,
    /// Names of what it can.
    pub(crate) capabilities: Vec<String>,
    /// Its name, as it gives it.
    pub(crate) server_name: Option<String>,
    /// Its version, as it gives it.
    pub(crate) server_version: Option<String>,
}

/// What becomes of sessions.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Session {
    /// `initialize` gives a session.
    pub(crate) given: bool,
    /// How long its id is, in characters.
    pub(crate) id_length: Option<usize>,
    /// A list on a session that the server does not know.
    pub(crate) unknown: Option<Answer>,
    /// A ping in the same place is refused in the same words: this confirms that a refused tool did not run.
    pub(crate) unknown_confirmed: Option<bool>,
    /// A ping without a session id, while there are sessions.
    pub(crate) missing: Option<Answer>,
    /// `initialize` with the id of a session that is not known.
    pub(crate) stale_initialize: Option<Answer>,
    /// The GET stream.
    pub(crate) get: Option<Answer>,
    /// Another one beside it.
    pub(crate) second_get: Option<Answer>,
    /// A second session was opened, and the first lived on (`--intrusive`).
    pub(crate) holds_two: Option<bool>,
    /// DELETE of the session.
    pub(crate) delete: Option<Answer>,
    /// A ping after that.
    pub(crate) after_delete: Option<Answer>,
}

/// How answers come.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Streams {
    /// `json` or `sse`: the shape of an answer.
    pub(crate) shape: Option<&'static str>,
    /// Event ids, on the stream of a POST.
    pub(crate) event_ids: bool,
    /// An id comes before the answer does.
    pub(crate) priming: bool,
    /// The last `retry:`
    pub(crate) retry_ms: Option<u64>,
    /// Comments were seen.
    pub(crate) comments: bool,
    /// What reading on after the first event gave: `returned`, `empty`, `silent` or `refused`.
    pub(crate) resume: Option<&'static str>,
    /// What reading on gave of a tool that still ran (`--call`): the same words.
    pub(crate) resume_running: Option<&'static str>,
    /// The answer to that GET.
    pub(crate) resume_answer: Option<Answer>,
    /// The content coding of an answer to a client that takes gzip.
    pub(crate) coding: Option<String>,
    /// The header `X-Accel-Buffering`.
    pub(crate) accel_buffering: Option<String>,
    /// Events of one answer came at different times.
    pub(crate) spread: Option<bool>,
}

/// How much at once.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Limits {
    /// So many requests were sent at once.
    pub(crate) at_once: usize,
    /// So many of them were answered.
    pub(crate) answered: usize,
    /// They were answered one after the other, as far as can be told.
    pub(crate) serial: Option<bool>,
    /// How long one took.
    pub(crate) one_ms: u64,
    /// How long all took.
    pub(crate) all_ms: u64,
    /// A 429 was seen.
    pub(crate) rate_limited: bool,
    /// What it said of how long to wait.
    pub(crate) retry_after_s: Option<u64>,
    /// What a request of 1 MiB got.
    pub(crate) large: Option<Answer>,
}

/// Who is let in.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Auth {
    /// Without a login nobody is let in.
    pub(crate) required: bool,
    /// What was given to the doctor: `none`, `given` or `login`.
    pub(crate) login: &'static str,
    /// What is said to those without one.
    pub(crate) refusal: Option<Answer>,
    /// There is a challenge of OAuth.
    pub(crate) challenge: bool,
    /// It names the metadata of this very resource.
    pub(crate) own_metadata: bool,
    /// The scopes that it wants.
    pub(crate) scope: Option<String>,
    /// The resource, as its metadata writes it.
    pub(crate) resource: Option<String>,
    /// Who gives tokens.
    pub(crate) issuer: Option<String>,
    /// What of OAuth is there, by name.
    pub(crate) offers: BTreeMap<&'static str, bool>,
    /// For how long the token is good yet (`--login`).
    pub(crate) token_seconds_left: Option<u64>,
    /// A refresh brought a token (`--login`).
    pub(crate) refreshes: Option<bool>,
}

/// What tools say of themselves.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Tools {
    /// So many.
    pub(crate) count: usize,
    /// Of those: readOnlyHint is true.
    pub(crate) read_only: usize,
    /// idempotentHint is true, and they do not only read.
    pub(crate) idempotent: usize,
    /// They say that they write, and not that they can be repeated.
    pub(crate) writing: usize,
    /// They say nothing.
    pub(crate) silent: usize,
    /// The pages that the list had.
    pub(crate) pages: usize,
}

/// What becomes of silence.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Idle {
    /// After so long an idle connection was closed; none if it lived through all of it.
    pub(crate) connection_closed_after_ms: Option<u64>,
    /// After so long an idle GET stream ended; none if it did not.
    pub(crate) stream_cut_after_ms: Option<u64>,
    /// The longest time between two signs of life on it.
    pub(crate) keep_alive_ms: Option<u64>,
    /// So long was waited.
    pub(crate) watched_ms: u64,
}

/// What a process does.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Process {
    /// How long it took to answer the first request.
    pub(crate) first_answer_ms: Option<u64>,
    /// Lines on stdout that are no messages, and the first of them.
    pub(crate) stray_lines: usize,
    /// The first of them.
    pub(crate) first_stray: Option<String>,
    /// Lines on stderr.
    pub(crate) stderr_lines: usize,
    /// It ended by itself when its stdin was closed, after so long.
    pub(crate) exit_ms: Option<u64>,
    /// Its exit code.
    pub(crate) exit_code: Option<i32>,
}
