"""The options. What is not given is not said: the defaults are the core's, and `docs/options.md` has them with their reasons."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

from ._events import Event, Progress, ServerNotification
from ._oauth import OAuth, Seconds
from ._words import Era, Recovery, Resend, TrustAnnotations

TokenProvider = Callable[[Union[str, None]], Union[str, Awaitable[str]]]
"""Gives the bearer token. It gets the token that the server refused, or None the first time. Sync or async."""

HeaderProvider = Callable[[], Union[Mapping[str, str], Awaitable[Mapping[str, str]]]]
"""Gives headers, before each attempt. Sync or async."""

RequestHandler = Callable[[Any], Union[Mapping[str, Any], Awaitable[Mapping[str, Any]]]]
"""Answers a request of the server: gets its params, gives the result, both as on the wire. Sync or async."""

RootsHandler = Callable[[], Union[Mapping[str, Any], Awaitable[Mapping[str, Any]]]]
"""Answers `roots/list`: gives the result as on the wire, `{"roots": [{"uri": …}]}`. Sync or async."""


class CallOptions(TypedDict, total=False):
    """Options of a call, of a tool and of a client. The narrower one wins."""

    timeout: Seconds | None
    """The whole call: queueing, recovery, every attempt, all pages. Default: none."""
    idle_timeout: Seconds | None
    """No byte of an answer for that long. Default: none."""
    reset_on_progress: bool | None
    """Progress starts `timeout` anew. Default: False."""
    max_total_timeout: Seconds | None
    """The end that progress cannot move. Default: none."""
    resend: Resend | None
    """Your word on sending the call again after an ambiguous loss: `always`, `default`, `never`."""


class ListOptions(CallOptions, total=False):
    """What may be said of one list: of all its pages together."""

    on_progress: Callable[[Progress], Any] | None
    """Called for each progress notification of this call, in order and before the result. Sync or async."""
    param: Mapping[str, Any] | None
    """More members of the params, exact, for example the `context` of `complete`."""


class RequestOptions(ListOptions, total=False):
    """What may be said of one call."""

    idempotency_key: str | Literal[False] | None
    """The key under which the server sees all attempts of this tool call, for example your tool-use id. False: none is sent."""
    meta: Mapping[str, Any] | None
    """More members of `_meta`, for example `traceparent`; the same in all attempts."""


class ConnectOptions(CallOptions, total=False):
    """Options of a client, besides those of its calls."""

    tool_options: Mapping[str, CallOptions] | None
    """Options of single tools, by name."""
    orphan_timeout: Seconds | None
    """How long silence is borne on a resumed stream, or on an attempt whose session is gone. Default: 60 s."""
    connect_timeout: Seconds | None
    """Making one connection. Default: 10 s."""
    connect_patience: Seconds | None
    """How long attempts that were never sent are repeated when no deadline says, and handshakes that a gateway
    answered with 502, 503, 504 or 429 because the server is not up. Default: 10 s; 0: not at all."""
    handshake_timeout: Seconds | None
    """One try of a handshake; there are two. Default: 30 s."""
    close_timeout: Seconds | None
    """All of `close()`. Default: 5 s."""
    retry_after_max: Seconds | None
    """The longest `Retry-After` that is waited for. Default: 60 s."""
    backoff: tuple[Seconds, Seconds] | None
    """The bound of the first wait between repeats, and of the longest. Default: 100 ms, 5 s."""
    retry_budget: tuple[float, int] | None
    """Resends after ambiguous losses: percent of the calls, and so many a second. Default: 20, 10."""
    max_message: int | None
    """The largest message, in bytes: all of a JSON body, envelope and escapes included. Default: 32 MiB."""
    max_event: int | None
    """The largest event of a stream, in bytes: all its lines, `data: ` included; at most `max_message`. Default: 32 MiB."""
    max_pages: int | None
    """The pages that one list may have. Default: 1,000."""
    pool_idle_timeout: Seconds | None
    """How long an idle connection is kept. Default: 4 s."""
    fresh_connection: bool | None
    """Never reuse a connection for a call that may not be repeated. Default: False."""
    tcp_keep_alive: tuple[Seconds, int] | None
    """The silence before and between probes, and how many may go unanswered. Default: 15 s, 3."""
    http2_ping: tuple[Seconds, Seconds] | None
    """The silence before a ping, and how long its answer may take. Default: 30 s, 20 s."""
    trust_annotations: TrustAnnotations | None
    """Which tool hints of the server are believed: `none`, `read_only`, `hinted`. Default: `hinted`."""
    recovery: Recovery | None
    """What to do about a lost session: `auto`, `surface`, `off`. Default: `auto`."""
    era: Era | None
    """Which era to speak: `auto`, `legacy`, `modern`. Default: `auto`, which asks the server."""
    extensions: Mapping[str, Mapping[str, Any]] | None
    """Extensions of the protocol that you speak, by id, each with its settings: they are declared to the server. Default: none."""
    cache: bool | None
    """Answer lists and reads from memory as long as the server allows it. Default: False."""
    cookies: bool | None
    """Cookies that the server, or a balancer in front of it, sets go back to it, and nowhere else. Default: True."""
    lazy: bool | None
    """Connecting returns at once, and the first call makes the handshake. Default: False."""
    listen: bool | None
    """Keep the server's optional GET stream open. Default: True."""
    idempotency_keys: bool | None
    """Every tool call carries an idempotency key in `_meta`. Default: True."""
    token: str | TokenProvider | None
    """The bearer token, or who gives it: asked once, and once more after a 401, however many calls saw it."""
    oauth: OAuth | None
    """The client logs in by itself, and stays logged in (OAuth 2.1). In the place of `token`. Default: none."""
    headers: Mapping[str, str] | HeaderProvider | None
    """Headers for every request, or who gives them before each attempt."""
    on_sampling: RequestHandler | None
    """Answers `sampling/createMessage`. Default: not advertised."""
    on_elicitation: RequestHandler | None
    """Answers `elicitation/create`. Default: not advertised."""
    on_roots: RootsHandler | None
    """Answers `roots/list`. Default: not advertised."""
    on_notification: Callable[[ServerNotification], Any] | None
    """Called for each notification of the server but progress, in order. Sync or async."""
    on_event: Callable[[Event], Any] | None
    """Called for each event, in order. Sync or async."""
    client_info: tuple[str, str] | None
    """The name and version that the client gives of itself."""
    root_certificates: bytes | str | None
    """More root certificates, PEM, besides those of the machine."""
    client_certificate: tuple[bytes | str, bytes | str] | None
    """The certificate that the client shows, with its chain, and its key, both PEM."""
    proxy: str | None
    """The proxy, for example `http://127.0.0.1:3128`. Default: the one of the environment."""
    no_proxy: bool | None
    """No proxy, whatever the environment says."""
    http1_only: bool | None
    """Speak HTTP/1.1 only."""
    http2_only: bool | None
    """Speak HTTP/2 without asking, also without TLS."""


if TYPE_CHECKING:
    # Of the type checker only: nothing is installed for it.
    from typing_extensions import Unpack as Unpack
