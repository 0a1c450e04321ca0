"""The blocking client. While a call waits, other threads run; Ctrl+C ends it."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _background, _callbacks, _native
from ._described import Described
from ._events import Event, Progress
from ._json import read
from ._results import (
    CallToolResult,
    CompleteResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
)
from ._stdio import described

if TYPE_CHECKING:
    from ._options import ConnectOptions, ListOptions, RequestOptions, Unpack
    from ._stdio import Inherit, Text


def connect_sync(url: str, **options: Unpack[ConnectOptions]) -> SyncClient:
    """Connect to an MCP server from code without a loop: `with connect_sync(url) as client`.

    Waits for the handshake unless `lazy`. The options are those of `ConnectOptions`. Callbacks run in a thread of their own, those for
    progress in the thread that called.
    """
    return _connected(_native.connect, url, options)


def connect_stdio_sync(
    command: Text,
    args: Sequence[Text] = (),
    *,
    env: Mapping[str, str] | None = None,
    folder: Text | None = None,
    inherit: Inherit | None = None,
    **options: Unpack[ConnectOptions],
) -> SyncClient:
    """Start an MCP server, and connect to it over its stdin and stdout: as `connect_stdio`, from code without a loop."""
    return _connected(_native.connect_stdio, described(command, args, env, folder, inherit), options)


def _connected(start: Callable[..., _native.Pending], target: str, options: ConnectOptions) -> SyncClient:
    given: dict[str, Any] = dict(options)
    host = _background.loop() if _callbacks.needs_a_loop(given) else None
    return SyncClient(_end_of(start(None, host, target, _callbacks.adapted(given))))


def _end_of(pending: _native.Pending, on_progress: Callable[[Progress], Any] | None = None) -> Any:
    """Waits for a call. Whoever stops waiting cancels it."""
    # Signals are the main thread's.
    main = threading.current_thread() is threading.main_thread()
    try:
        while True:
            over, got = pending.wait(main)
            if over:
                return got
            if on_progress is not None:
                _tell(on_progress, Progress._from_json(got))
    except BaseException:
        pending.cancel()
        raise


def _tell(callback: Callable[[Progress], Any], progress: Progress) -> None:
    told = callback(progress)
    if isinstance(told, Awaitable):
        import asyncio

        async def heard() -> None:
            await told

        asyncio.run_coroutine_threadsafe(heard(), _background.loop()).result()


def _run(start: Callable[[None, dict[str, Any]], _native.Pending], options: ListOptions) -> Any:
    given: dict[str, Any] = dict(options)
    return _end_of(start(None, given), given.get("on_progress"))


class SyncClient(Described):
    """A client of one MCP server, for code without a loop. Made by `oncewire.connect_sync`; may be shared by threads.

    Every method may raise `NotExecutedError`, `MayHaveExecutedError` or `AnsweredError`. Options are those of `RequestOptions`; lists
    take those of `ListOptions`.
    """

    def __init__(self, native: _native.Client) -> None:
        self._native = native

    def __enter__(self) -> SyncClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def list_tools(self, *, cursor: str | None = None, **options: Unpack[ListOptions]) -> ListToolsResult:
        """`tools/list`: all pages, unless a cursor is given."""
        return ListToolsResult._of(read(_run(lambda to, given: self._native.list_tools(to, cursor, given), options)))

    def list_resources(self, *, cursor: str | None = None, **options: Unpack[ListOptions]) -> ListResourcesResult:
        """`resources/list`: all pages, unless a cursor is given."""
        return ListResourcesResult._of(
            read(_run(lambda to, given: self._native.list_resources(to, cursor, given), options))
        )

    def list_resource_templates(
        self, *, cursor: str | None = None, **options: Unpack[ListOptions]
    ) -> ListResourceTemplatesResult:
        """`resources/templates/list`: all pages, unless a cursor is given."""
        got = _run(lambda to, given: self._native.list_resource_templates(to, cursor, given), options)
        return ListResourceTemplatesResult._of(read(got))

    def list_prompts(self, *, cursor: str | None = None, **options: Unpack[ListOptions]) -> ListPromptsResult:
        """`prompts/list`: all pages, unless a cursor is given."""
        return ListPromptsResult._of(
            read(_run(lambda to, given: self._native.list_prompts(to, cursor, given), options))
        )

    def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[RequestOptions]
    ) -> CallToolResult:
        """`tools/call`. It is sent again only with proof that it did not run, or with leave to repeat it.

        A tool that fails by its own word is a result with `is_error`, not an exception.
        """
        call = self._native.call_tool
        return CallToolResult._of(read(_run(lambda to, given: call(to, name, arguments, given), options)))

    def read_resource(self, uri: str, **options: Unpack[RequestOptions]) -> ReadResourceResult:
        """`resources/read`"""
        call = self._native.read_resource
        return ReadResourceResult._of(read(_run(lambda to, given: call(to, uri, given), options)))

    def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Unpack[RequestOptions]
    ) -> GetPromptResult:
        """`prompts/get`"""
        call = self._native.get_prompt
        return GetPromptResult._of(read(_run(lambda to, given: call(to, name, arguments, given), options)))

    def complete(
        self, reference: Mapping[str, Any], argument: str, value: str, **options: Unpack[RequestOptions]
    ) -> CompleteResult:
        """`completion/complete`: what to complete (`{"type": "ref/prompt", "name": …}`), the name of its argument, what was typed."""
        call = self._native.complete
        got = _run(lambda to, given: call(to, reference, argument, value, given), options)
        return CompleteResult._of(read(got))

    def ping(self, **options: Unpack[RequestOptions]) -> None:
        """`ping`"""
        _run(self._native.ping, options)

    def set_log_level(self, level: str, **options: Unpack[RequestOptions]) -> None:
        """`logging/setLevel`; the level is set again on each new session."""
        _run(lambda to, given: self._native.set_log_level(to, level, given), options)

    def subscribe(self, uri: str, **options: Unpack[RequestOptions]) -> None:
        """`resources/subscribe`; the subscription is made again on each new session."""
        _run(lambda to, given: self._native.subscribe(to, uri, given), options)

    def unsubscribe(self, uri: str, **options: Unpack[RequestOptions]) -> None:
        """`resources/unsubscribe`"""
        _run(lambda to, given: self._native.unsubscribe(to, uri, given), options)

    def request(self, method: str, params: Mapping[str, Any] | None = None, **options: Unpack[RequestOptions]) -> Any:
        """Any other request. Nothing is known of it, so it is never repeated after an ambiguous loss unless `resend` says so."""
        return read(_run(lambda to, given: self._native.request(to, method, params, given), options))

    def recover(self) -> None:
        """Replace the session by a new one, whatever its state. The old one ends with its last call."""
        _end_of(self._native.recover(None))

    def login(self) -> None:
        """Make sure that there is a login: the stored one, refreshed if it is over, or a new one, for which a person is asked."""
        _end_of(self._native.login(None))

    def logout(self) -> None:
        """End the login: it is revoked, as far as the authorization server lets it, and forgotten in the store."""
        _end_of(self._native.logout(None))

    def close(self) -> None:
        """Close the client: new calls fail, calls in flight are cancelled and judged, the session is deleted. Harmless when closed."""
        _end_of(self._native.close(None))

    def events(self) -> Iterator[Event]:
        """Events as they happen, from now on. A reader that is 1,024 behind loses the oldest."""
        stream = self._native.events()

        def read_on() -> Iterator[Event]:
            while (text := _end_of(stream.next(None))) is not None:
                yield Event._from_json(text)

        return read_on()
