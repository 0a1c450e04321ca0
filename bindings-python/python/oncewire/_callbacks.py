"""Adapters between the user's callbacks and the native module, which speaks JSON text.

A callback may be a function or a coroutine function. It runs on the loop that the client was connected on, in the context
(`contextvars`) of whoever gave it. One that raises fails its own call and nothing else.
"""

from __future__ import annotations

import contextvars
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ._events import Event, Progress, ServerNotification
from ._json import read
from ._native import to_json
from ._oauth import OAuth

if TYPE_CHECKING:
    import asyncio

    from ._native import Reply

# asyncio and logging are imported where they are needed: the import of the package stays light.
_tasks: set[asyncio.Future[Any]] = set()


def adapted(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a client, with an adapter around each callback."""
    for name, adapt in _ADAPTERS.items():
        callback = options.get(name)
        if callable(callback):
            options[name] = adapt(name, callback)
    if isinstance(oauth := options.get("oauth"), OAuth):
        options["oauth"] = (oauth._as_given(), _question("oauth", oauth._answer))
    return options


def needs_a_loop(options: Mapping[str, Any]) -> bool:
    """Is there a callback among the options of a client?"""
    return options.get("oauth") is not None or any(callable(options.get(name)) for name in _ADAPTERS)


def _telling(read_as: Callable[[str], Any]) -> Callable[[str, Callable[[Any], Any]], Callable[[str], None]]:
    def adapt(name: str, callback: Callable[[Any], Any]) -> Callable[[str], None]:
        context = contextvars.copy_context()

        def tell(text: str) -> None:
            try:
                told = context.copy().run(_start, callback, read_as(text))
            except Exception as error:
                _log(name, error)
                return
            if told is not None:
                told.add_done_callback(lambda task: _log_failure(name, task))

        return tell

    return adapt


def _log_failure(name: str, task: asyncio.Future[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        _log(name, error)


def _log(name: str, error: BaseException) -> None:
    import logging

    logging.getLogger("oncewire").error("%s raised", name, exc_info=error)


def _start(callback: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any] | None:
    """Calls it; the task, if there is more to do."""
    import asyncio

    made = callback(*arguments)
    if not isinstance(made, Awaitable):
        return None
    task = asyncio.ensure_future(cast("Awaitable[Any]", made))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


def _asking(
    payload_of: Callable[[str | None], tuple[Any, ...]], text_of: Callable[[str, Any], str]
) -> Callable[[str, Callable[..., Any]], Callable[[Reply, str | None], None]]:
    def adapt(name: str, callback: Callable[..., Any]) -> Callable[[Reply, str | None], None]:
        import asyncio

        context = contextvars.copy_context()

        async def work(reply: Reply, payload: str | None) -> None:
            try:
                answer: Any = callback(*payload_of(payload))
                if isinstance(answer, Awaitable):
                    answer = await cast("Awaitable[Any]", answer)
                reply.ok(text_of(name, answer))
            except asyncio.CancelledError:
                reply.fail(f"{name} was cancelled")
                raise
            except Exception as error:
                reply.fail(f"{type(error).__name__}: {error}")
            except BaseException as error:
                reply.fail(type(error).__name__)
                raise

        def ask(reply: Reply, payload: str | None) -> None:
            task = context.copy().run(asyncio.ensure_future, work(reply, payload))
            _tasks.add(task)
            task.add_done_callback(_tasks.discard)
            reply.worked_on_by(task)

        return ask

    return adapt


def _token_text(name: str, answer: Any) -> str:
    if not isinstance(answer, str):
        raise TypeError(f"{name}: must give a str, not {type(answer).__name__}")
    return answer


def _header_text(name: str, answer: Any) -> str:
    if not isinstance(answer, Mapping):
        raise TypeError(f"{name}: must give a mapping of str to str, not {type(answer).__name__}")
    items = list(cast("Mapping[Any, Any]", answer).items())
    if not all(isinstance(header, str) and isinstance(content, str) for header, content in items):
        raise TypeError(f"{name}: must give a mapping of str to str")
    return json.dumps(items)


def _result_text(name: str, answer: Any) -> str:
    return to_json(answer, name)


_question = _asking(lambda text: (json.loads(text or "{}"),), lambda _, answer: json.dumps(answer))
_params = _asking(lambda text: (None if text is None else read(text),), _result_text)

_ADAPTERS: dict[str, Callable[[str, Callable[..., Any]], Callable[..., None]]] = {
    "token": _asking(lambda refused: (refused,), _token_text),
    "headers": _asking(lambda _: (), _header_text),
    "on_sampling": _params,
    "on_elicitation": _params,
    "on_roots": _asking(lambda _: (), _result_text),
    "on_notification": _telling(ServerNotification._from_json),
    "on_event": _telling(Event._from_json),
}


class ProgressTeller:
    """Tells the progress of one call, in order and before its result. If the callback raises, the call fails with that."""

    def __init__(self, callback: Callable[[Progress], Any]) -> None:
        self.future: asyncio.Future[Any] | None = None
        self._callback = callback
        self._context = contextvars.copy_context()
        self._tasks: list[asyncio.Future[Any]] = []

    def __call__(self, text: str) -> None:
        if self.future is None or self.future.done():
            return
        try:
            task = self._context.copy().run(_start, self._callback, Progress._from_json(text))
        except Exception as error:
            self._fail(error)
            return
        if task is not None:
            self._tasks.append(task)
            task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self.future is not None and not self.future.done():
            self.future.set_exception(error)

    async def told(self) -> None:
        """Waits until all that was told has been heard."""
        import asyncio

        await asyncio.gather(*self._tasks)

    def stop(self) -> None:
        """Nobody waits for the call any more."""
        for task in self._tasks:
            task.cancel()
