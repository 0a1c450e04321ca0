"""The client for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from . import _callbacks, _native
from ._described import Described
from ._events import Event
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
    import asyncio

    from ._options import ConnectOptions, ListOptions, RequestOptions, Unpack
    from ._stdio import Inherit, Text


def connect(url: str, **options: Unpack[ConnectOptions]) -> Connecting:
    """Connect to an MCP server: `async with connect(url) as client`, or `client = await connect(url)` and later `await client.close()`.

    Waits for the handshake unless `lazy`. The options are those of `ConnectOptions`.
    """
    return Connecting(_native.connect, url, options)


def connect_stdio(
    command: Text,
    args: Sequence[Text] = (),
    *,
    env: Mapping[str, str] | None = None,
    folder: Text | None = None,
    inherit: Inherit | None = None,
    **options: Unpack[ConnectOptions],
) -> Connecting:
    """Start an MCP server, and connect to it over its stdin and stdout: `async with connect_stdio("npx", ["-y", name]) as client`.

    `env` is set for it, besides a short list of variables of this process, or those that `inherit` says. The process is the session: a lost
    one is replaced by a new process, and `close()` ends it with its children. Options of HTTP that it would never hear of (`token`, `oauth`,
    `headers`, certificates, `proxy`) are refused. `docs/stdio.md` says it all.
    """
    return Connecting(_native.connect_stdio, described(command, args, env, folder, inherit), options)


class Connecting:
    """A client to be: for `async with`, or for `await`."""

    def __init__(self, start: Callable[..., _native.Pending], target: str, options: ConnectOptions) -> None:
        self._start = start
        self._target = target
        self._options = options
        self._client: Client | None = None

    def __await__(self) -> Generator[Any, None, Client]:
        return self._connect().__await__()

    async def __aenter__(self) -> Client:
        self._client = await self._connect()
        return self._client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._client is not None:
            await self._client.close()

    async def _connect(self) -> Client:
        loop = _running_loop()
        options = _callbacks.adapted(dict(self._options))
        return Client(await _end_of(self._start(loop, loop, self._target, options)))


def _running_loop() -> asyncio.AbstractEventLoop:
    import asyncio

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "oncewire runs on asyncio, and no asyncio loop runs here; from trio or from code without a loop use "
            "oncewire.connect_sync (under trio in a thread: trio.to_thread.run_sync)"
        ) from None


async def _end_of(pending: _native.Pending) -> Any:
    """Awaits a call. Whoever stops waiting cancels it."""
    future = cast("asyncio.Future[Any]", pending.future)
    try:
        return await future
    except BaseException:
        pending.cancel()
        if future.done() and not future.cancelled():
            # Looked at, so that nobody complains that it was not.
            future.exception()
        raise


class Client(Described):
    """A client of one MCP server, for asyncio. Made by `oncewire.connect`; may be shared by tasks, threads and loops.

    Every method may raise `NotExecutedError`, `MayHaveExecutedError` or `AnsweredError`. Cancelling the task that awaits a call
    cancels the call; its verdict is in the event `call_finished`. Options are those of `RequestOptions`; lists take those of
    `ListOptions`.
    """

    def __init__(self, native: _native.Client) -> None:
        self._native = native

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def list_tools(self, *, cursor: str | None = None, **options: Unpack[ListOptions]) -> ListToolsResult:
        """`tools/list`: all pages, unless a cursor is given."""
        got = await _run(lambda to, given: self._native.list_tools(to, cursor, given), options)
        return ListToolsResult._of(read(got))

    async def list_resources(self, *, cursor: str | None = None, **options: Unpack[ListOptions]) -> ListResourcesResult:
        """`resources/list`: all pages, unless a cursor is given."""
        got = await _run(lambda to, given: self._native.list_resources(to, cursor, given), options)
        return ListResourcesResult._of(read(got))

    async def list_resource_templates(
        self, *, cursor: str | None = None, **options: Unpack[ListOptions]
    ) -> ListResourceTemplatesResult:
        """`resources/templates/list`: all pages, unless a cursor is given."""
        got = await _run(lambda to, given: self._native.list_resource_templates(to, cursor, given), options)
        return ListResourceTemplatesResult._of(read(got))

    async def list_prompts(self, *, cursor: str | None = None, **options: Unpack[ListOptions]) -> ListPromptsResult:
        """`prompts/list`: all pages, unless a cursor is given."""
        got = await _run(lambda to, given: self._native.list_prompts(to, cursor, given), options)
        return ListPromptsResult._of(read(got))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any] | None = None, **options: Unpack[RequestOptions]
    ) -> CallToolResult:
        """`tools/call`. It is sent again only with proof that it did not run, or with leave to repeat it.

        A tool that fails by its own word is a result with `is_error`, not an exception.
        """
        call = self._native.call_tool
        return CallToolResult._of(read(await _run(lambda to, given: call(to, name, arguments, given), options)))

    async def read_resource(self, uri: str, **options: Unpack[RequestOptions]) -> ReadResourceResult:
        """`resources/read`"""
        call = self._native.read_resource
        return ReadResourceResult._of(read(await _run(lambda to, given: call(to, uri, given), options)))

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, **options: Unpack[RequestOptions]
    ) -> GetPromptResult:
        """`prompts/get`"""
        call = self._native.get_prompt
        return GetPromptResult._of(read(await _run(lambda to, given: call(to, name, arguments, given), options)))

    async def complete(
        self, reference: Mapping[str, Any], argument: str, value: str, **options: Unpack[RequestOptions]
    ) -> CompleteResult:
        """`completion/complete`: what to complete (`{"type": "ref/prompt", "name": …}`), the name of its argument, what was typed."""
        call = self._native.complete
        got = await _run(lambda to, given: call(to, reference, argument, value, given), options)
        return CompleteResult._of(read(got))

    async def ping(self, **options: Unpack[RequestOptions]) -> None:
        """`ping`"""
        await _run(self._native.ping, options)

    async def set_log_level(self, level: str, **options: Unpack[RequestOptions]) -> None:
        """`logging/setLevel`; the level is set again on each new session."""
        await _run(lambda to, given: self._native.set_log_level(to, level, given), options)

    async def subscribe(self, uri: str, **options: Unpack[RequestOptions]) -> None:
        """`resources/subscribe`; the subscription is made again on each new session."""
        await _run(lambda to, given: self._native.subscribe(to, uri, given), options)

    async def unsubscribe(self, uri: str, **options: Unpack[RequestOptions]) -> None:
        """`resources/unsubscribe`"""
        await _run(lambda to, given: self._native.unsubscribe(to, uri, given), options)

    async def request(
        self, method: str, params: Mapping[str, Any] | None = None, **options: Unpack[RequestOptions]
    ) -> Any:
        """Any other request. Nothing is known of it, so it is never repeated after an ambiguous loss unless `resend` says so."""
        return read(await _run(lambda to, given: self._native.request(to, method, params, given), options))

    async def recover(self) -> None:
        """Replace the session by a new one, whatever its state. The old one ends with its last call."""
        await _end_of(self._native.recover(_running_loop()))

    async def login(self) -> None:
        """Make sure that there is a login: the stored one, refreshed if it is over, or a new one, for which a person is asked."""
        await _end_of(self._native.login(_running_loop()))

    async def logout(self) -> None:
        """End the login: it is revoked, as far as the authorization server lets it, and forgotten in the store."""
        await _end_of(self._native.logout(_running_loop()))

    async def close(self) -> None:
        """Close the client: new calls fail, calls in flight are cancelled and judged, the session is deleted. Harmless when closed."""
        await _end_of(self._native.close(_running_loop()))

    async def events(self) -> AsyncIterator[Event]:
        """Events as they happen, from the first `async for` step on. A reader that is 1,024 behind loses the oldest."""
        stream = self._native.events()
        while (text := await _end_of(stream.next(_running_loop()))) is not None:
            yield Event._from_json(text)


async def _run(start: Callable[[Any, dict[str, Any]], _native.Pending], options: ListOptions) -> Any:
    """Makes a call, and tells its progress."""
    given: dict[str, Any] = dict(options)
    on_progress = given.get("on_progress")
    if not callable(on_progress):
        # The native module says what is wrong with it, if something is given.
        return await _end_of(start(_running_loop(), given))
    teller = _callbacks.ProgressTeller(on_progress)
    given["on_progress"] = teller
    pending = start(_running_loop(), given)
    teller.future = cast("asyncio.Future[Any]", pending.future)
    try:
        got = await _end_of(pending)
        await teller.told()
    finally:
        teller.stop()
    return got
