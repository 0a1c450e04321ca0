//! Every check: how bad it is, what it means, what to do, and whether it bounds the grade. `docs/doctor.md` has the same, in the same words.

use super::report::{Letter, Severity};
use Severity::{Error, Info, Warning};

/// One check.
#[derive(Debug)]
pub(crate) struct Check {
    /// Its name: room and word.
    pub(crate) id: &'static str,
    /// How bad it is.
    pub(crate) severity: Severity,
    /// What it is.
    pub(crate) title: &'static str,
    /// What to do about it.
    pub(crate) fix: &'static str,
    /// The best grade that a server with this can have.
    pub(crate) cap: Option<Letter>,
}

const fn check(id: &'static str, severity: Severity, title: &'static str, fix: &'static str) -> Check {
    Check { id, severity, title, fix, cap: None }
}

const fn capped(id: &'static str, severity: Severity, cap: Letter, title: &'static str, fix: &'static str) -> Check {
    Check { id, severity, title, fix, cap: Some(cap) }
}

macro_rules! checks {
    ($($name:ident = $check:expr;)*) => {
        $(#[doc = "See its title."] pub(super) static $name: Check = $check;)*
        /// All of them, by room.
        pub(crate) static CHECKS: &[&Check] = &[$(&$name),*];
    };
}

checks! {
    OUT_OF_TIME = check("doctor.out_of_time", Warning, "the time was over before everything was examined",
        "give it more: --timeout");
    UNUSABLE = check("doctor.unusable", Error, "the server cannot be examined as it is given",
        "mend the entry that the text names");

    UNKNOWN_HOST = check("reach.unknown_host", Error, "the name has no address",
        "check the URL, or the DNS record of the name");
    UNREACHABLE = check("reach.unreachable", Error, "no address takes a connection",
        "start the server, or open its port");
    ADDRESS_DEAD = check("reach.address_dead", Warning, "one of the addresses of the name takes no connection",
        "take the record away, or serve that address: each new client waits for it first");
    TLS_FAILED = check("reach.tls_failed", Error, "TLS cannot be agreed on",
        "serve a certificate for this name with its whole chain, or give the client the root (root_certificates)");
    CERTIFICATE_ENDS = check("reach.certificate_ends", Warning, "the certificate ends soon",
        "renew it: after that day no client gets in");
    CLEARTEXT = check("reach.cleartext", Warning, "requests and tokens go over the network in the clear",
        "serve it over https");
    REDIRECTS = check("reach.redirects", Warning, "the URL leads elsewhere, and a client that keeps its requests does not follow",
        "give clients the URL that it leads to");
    REDIRECT_FOLLOWED = check("reach.redirect_followed", Info, "the URL leads to another path of the same origin",
        "give clients the URL that it leads to: it saves each request a round");
    THROUGH_PROXY = check("reach.through_proxy", Info, "requests go through a proxy, so that addresses and TLS were not looked at",
        "run the doctor where there is no proxy to see them");
    NOT_MCP = check("reach.not_mcp", Error, "what answers there does not speak MCP",
        "check the path of the URL: most servers have it at /mcp");

    PROBE_SILENT = check("era.discover_silent", Warning, "server/discover gets no answer",
        "answer methods that are not known with an error at once: each new client asks this first, and waits");
    PROBE_TROUBLE = check("era.discover_trouble", Warning, "server/discover gets an answer that says nothing of the era",
        "answer it with 4xx or a JSON-RPC error if the server does not know it: a 5xx makes clients try again");
    HANDSHAKE_FAILED = check("era.handshake_failed", Error, "initialize fails",
        "answer initialize without a session id and without a version header with a result");
    INITIALIZED_REFUSED = check("era.initialized_refused", Error, "notifications/initialized is refused",
        "answer it with 202");
    VERSION_REFUSED = check("era.version_refused", Warning, "initialize refuses a version that it does not know",
        "answer with a version that the server speaks (MCP 2025-11-25, version negotiation)");
    VERSION_UNCHECKED = check("era.version_unchecked", Info, "a version that does not exist is accepted",
        "refuse it with 400 (2026-07-28: error -32022 that lists the versions)");
    VERSION_UNLISTED = check("era.version_unlisted", Warning, "a version that is not spoken is refused without a list of those that are",
        "answer -32022 with data.supported (MCP 2026-07-28, versioning)");

    NOT_CHECKED = check("session.not_checked", Info, "sessions are given and not looked at: a request on an unknown one is answered",
        "nothing is lost with a session here; give none if none is needed");
    LOST_BY_WORDS = check("session.lost_by_words", Warning, "a lost session is told by words, and not by 404",
        "answer 404 to a session id that is not known (MCP 2025-11-25, session management)");
    LOST_UNSEEN = capped("session.lost_unseen", Error, Letter::D, "a lost session is told in a way that no client can understand",
        "answer 404 to a session id that is not known (MCP 2025-11-25, session management)");
    LOST_UNCONFIRMED = capped("session.lost_unconfirmed", Warning, Letter::C, "a ping on a lost session is not refused like other requests",
        "look at the session before the method: then a ping proves that a refused tool did not run");
    MISSING_ACCEPTED = check("session.missing_accepted", Info, "a request without its session id is answered",
        "refuse it with 400 if sessions matter");
    STALE_INITIALIZE = check("session.stale_initialize_refused", Info, "initialize with the id of a lost session is refused",
        "accept it: some clients send the old id, and are locked out");
    ID_UNUSABLE = check("session.id_unusable", Error, "the session id holds characters that no header may carry back",
        "make it of visible ASCII alone (MCP 2025-11-25, session management)");
    ID_SHORT = check("session.id_short", Warning, "the session id is short enough to be guessed",
        "use a random UUID or a signed token");
    GET_SILENT = check("session.get_silent", Warning, "a GET gets not even a head",
        "answer 405 if there is no stream, or the head of the stream at once");
    GET_ODD = check("session.get_odd", Info, "a GET gets neither a stream nor 405",
        "answer 405 if there is no stream");
    ONE_SESSION = check("session.one_alone", Warning, "a second session ends the first",
        "hold more than one: each new client, and each recovery, takes the session of the others");
    DELETE_REFUSED = check("session.delete_refused", Info, "clients cannot end their sessions",
        "answer DELETE: without it each session stays until its time is over");
    DELETE_FAILED = check("session.delete_failed", Warning, "DELETE of a session fails",
        "answer DELETE with 200 or 204, or with 405 if clients may not end sessions");
    LIVES_ON = check("session.lives_on", Warning, "a session is served after it was deleted",
        "forget it at its DELETE, and answer 404 from then on");

    NO_IDS = check("streams.no_event_ids", Warning, "the stream of an answer has no event ids: after a cut nothing can be read on",
        "keep events, and give them ids (an event store, in the words of the SDKs)");
    JSON_ANSWERS = check("streams.json", Info, "answers are plain JSON: one that is cut off is lost",
        "answer long tools with a stream that has event ids");
    NO_PRIMING = check("streams.no_priming", Info, "the first event id comes with the answer: a cut before it cannot be read on",
        "begin the stream with an event that has an id and empty data (MCP 2025-11-25, transports)");
    RESUME_BROKEN = capped("streams.resume_broken", Error, Letter::C, "event ids are given, and reading on gives nothing",
        "let GET with Last-Event-ID send what came after that event, also of an answer that is over");
    RESUME_EMPTY = check("streams.resume_empty", Warning, "reading on gives nothing of an answer that is over",
        "keep the events of an answer for a while after it was sent: a cut in the last moment loses it else");
    RETRY_LONG = check("streams.retry_long", Warning, "the server wants clients to wait long before they read on",
        "a retry: of a few seconds at most; above 60 s clients give up");
    CODED = check("streams.coded", Warning, "a stream of events is compressed on its way",
        "turn compression off for text/event-stream: it holds events back until there are enough of them");
    BUFFERED = check("streams.buffered", Warning, "the events of a stream come all at once",
        "turn buffering off on the way (nginx: proxy_buffering off, or X-Accel-Buffering: no from the server)");
    MAY_BUFFER = check("streams.may_buffer", Info, "nginx stands on the way, and is not told to leave streams alone",
        "send X-Accel-Buffering: no with every stream");

    SERIAL = check("limits.serial", Info, "requests that are sent at once are answered one after the other",
        "serve them side by side: one slow tool holds up every other call");
    UNANSWERED = check("limits.unanswered", Warning, "some of eight requests that are sent at once are not answered",
        "let a client send several requests at once");
    RATE_LIMITED = check("limits.rate_limited", Warning, "eight requests at once are too many",
        "allow a short burst: hosts start with several lists at once");
    NO_RETRY_AFTER = check("limits.no_retry_after", Warning, "429 does not say how long to wait",
        "send Retry-After");
    SMALL = check("limits.small", Info, "a request of 1 MiB is too large",
        "raise the limit of the body on the server and on all proxies before it, if tools take files");

    LOGIN_WANTED = check("auth.login_wanted", Info, "the server wants a login, and the doctor was given none: the rest was not examined",
        "give one (--token-env, --token-file, --header-env or --login)");
    LOGIN_REFUSED = check("auth.login_refused", Error, "the login that was given is refused",
        "get a new token, or log in anew");
    NO_CHALLENGE = capped("auth.no_challenge", Error, Letter::C, "401 comes without a challenge",
        "send WWW-Authenticate: Bearer resource_metadata=\"…\" (RFC 9728, section 5.1)");
    FOREIGN_METADATA = check("auth.foreign_metadata", Warning, "the challenge does not name the metadata of this resource",
        "name it: resource_metadata=\"…/.well-known/oauth-protected-resource…\". Then a refused call is known not to have run");
    METADATA_FAULT = check("auth.metadata_fault", Error, "the metadata for logins cannot be used",
        "mend what the text names");
    NO_METADATA = check("auth.no_metadata", Warning, "there is no metadata of an authorization server",
        "serve it (RFC 8414): clients have to guess where to log in");
    NO_S256 = check("auth.no_s256", Error, "PKCE with S256 is not listed",
        "list S256 in code_challenge_methods_supported: clients refuse to log in without it");
    NO_REGISTRATION = check("auth.no_registration", Warning, "clients cannot register themselves",
        "offer client_id_metadata_document_supported, or a registration_endpoint; else each user needs a client id by hand");
    NO_ISSUER = check("auth.no_issuer", Info, "redirects do not bear the issuer",
        "send iss, and say so: authorization_response_iss_parameter_supported (RFC 9207)");
    NO_OFFLINE = check("auth.no_offline_access", Info, "offline_access is not among the scopes",
        "list it if refresh tokens hang on it");
    NOT_NEEDED = check("auth.not_needed", Warning, "a login was given, and the server answers without one, too",
        "refuse requests without a login with 401, if it matters");
    REFRESH_FAILED = check("auth.refresh_failed", Error, "the login cannot be refreshed",
        "the text says why; users have to log in anew each time the token ends");
    NO_REFRESH = check("auth.no_refresh", Warning, "there is no refresh token",
        "grant one (refresh_token among the grant types, offline_access): else a person is asked each time the token ends");

    NO_TOOLS = check("tools.list_failed", Error, "tools are announced, and cannot be listed",
        "answer tools/list");
    NO_HINTS = check("tools.no_hints", Warning, "tools do not say whether they only read or can be repeated",
        "set readOnlyHint or idempotentHint on those for which it is true: a lost call of such a tool is made good without asking anybody");
    CONTRADICTORY = capped("tools.contradictory", Error, Letter::C, "hints contradict each other",
        "a tool that only reads destroys nothing: set one of readOnlyHint and destructiveHint to false");
    DOUBTFUL_HINT = check("tools.doubtful_hint", Warning, "a tool says that it only reads, and its name says otherwise",
        "take readOnlyHint away if it changes anything: clients repeat such tools by themselves");
    SCHEMA_FAULT = check("tools.schema_fault", Error, "the input schema of a tool cannot be used",
        "an inputSchema of \"type\": \"object\", also for a tool without arguments");
    HEADER_FAULT = check("tools.header_fault", Error, "x-mcp-header is used wrongly: clients of 2026-07-28 do not offer the tool",
        "mend the annotation that the text names");
    SAME_NAME = check("tools.same_name", Error, "two tools have the same name",
        "give each a name of its own");
    ALIKE_NAMES = check("tools.alike_names", Warning, "names of tools differ only by case or by signs that hosts do not keep apart",
        "give them names that differ by a word");
    BAD_NAME = check("tools.bad_name", Warning, "the name of a tool is none that every host takes",
        "letters, digits, _, - and . alone, 128 of them at most");
    PAGES_ENDLESS = check("tools.pages_endless", Warning, "the list of tools does not end",
        "leave nextCursor out on the last page");
    CALL_FAILED = check("tools.call_failed", Warning, "the tool that was named by --call did not answer with a result",
        "see the text");

    CONNECTION_SHORT = check("idle.connection_short", Warning, "idle connections are closed soon",
        "keep them for longer than clients do: 5 s and more; those who reuse one at the same moment lose their request");
    STREAM_CUT = check("idle.stream_cut", Warning, "the GET stream is cut when nothing is said on it",
        "raise the time-out of the proxy, or send a comment every 15 s or so");
    NO_KEEP_ALIVE = check("idle.no_keep_alive", Info, "nothing is sent on an idle stream",
        "send a comment every 15 s or so: proxies cut what is silent, mostly after 60 s");

    STRAY_OUTPUT = check("stdio.stray_output", Error, "stdout has lines that are no messages",
        "write logs to stderr: one such line ends many clients");
    EXITS_LATE = check("stdio.exits_late", Warning, "the process does not end when its stdin is closed",
        "end when stdin ends: hosts that crash leave the process behind");
    EXIT_CODE = check("stdio.exit_code", Info, "the process ends with an error code when its stdin is closed",
        "end with 0: that is the ordinary end");
    SPAWN_FAILED = check("stdio.spawn_failed", Error, "the process does not start, or ends at once",
        "check the command, its arguments and its environment");
}
