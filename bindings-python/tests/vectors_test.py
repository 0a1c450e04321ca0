"""Every scenario vector that is marked for Python, through the package.

Scenarios are independent, so they run many at a time, on one loop in one thread; each test then looks at one of them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import oncewire
import pytest
import support

# Fewer than the processor could do: what a scenario says of time must not depend on the others.
AT_ONCE = 8

_CLASSES = {
    oncewire.NotExecutedError: "not_executed",
    oncewire.MayHaveExecutedError: "may_have_executed",
    oncewire.AnsweredError: "answered",
}
_ARGUMENTS = {
    "call_tool": ("name", "arguments"),
    "get_prompt": ("name", "arguments"),
    "read_resource": ("uri",),
    "subscribe": ("uri",),
    "unsubscribe": ("uri",),
    "set_log_level": ("level",),
    "request": ("method", "params"),
}
_DURATIONS = {
    "timeout",
    "idle_timeout",
    "max_total_timeout",
    "orphan_timeout",
    "connect_timeout",
    "connect_patience",
    "handshake_timeout",
    "close_timeout",
    "retry_after_max",
    "pool_idle_timeout",
}


def _vectors() -> list[dict[str, Any]]:
    import json

    printed = subprocess.run([support.executable(), "--vectors", "python"], stdout=subprocess.PIPE, check=True).stdout
    vectors: list[dict[str, Any]] = json.loads(printed)
    return vectors


class LogLines(logging.Handler):
    """Keeps every line and its fields."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {vars(record)}")


class Run:
    """One vector, carried out."""

    def __init__(self, server: support.FaultServer, vector: dict[str, Any]) -> None:
        self.server = server
        self.vector = vector
        self.calls: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.texts: list[str] = []
        self.tokens_asked = 0
        self.started: dict[str, list[asyncio.Task[None]]] = {}
        self.client: oncewire.Client | None = None
        self.scenario: support.Scenario | None = None

    async def failures(self) -> list[str]:
        """Carries it out, and asks the judge."""
        scenario = self.scenario = await asyncio.to_thread(self.server.start, {"vector": self.vector})
        try:
            for step in self.vector["steps"]:
                await self.step(step)
            if self.client is not None:
                self.texts.append(repr(self.client))
                await self.client.close()
            # Events are told on this loop; what was told before is heard now.
            await asyncio.sleep(0.05)
            report = {
                "calls": self.calls,
                "events": self.events,
                "texts": self.texts,
                "tokens_asked": self.tokens_asked,
            }
            return await asyncio.to_thread(scenario.judge, report)
        finally:
            await asyncio.to_thread(scenario.end)

    async def step(self, step: dict[str, Any]) -> None:
        """One step."""
        [(what, given)] = step.items()
        if what == "control":
            assert self.scenario is not None
            await asyncio.to_thread(self.scenario.pass_on, given)
        elif what == "call":
            for name in _names(given):
                await self.call(name, given)
        elif what == "together":
            await asyncio.gather(*(self.call(name, call) for call in given for name in _names(call)))
        elif what == "start":
            for name in _names(given):
                task = asyncio.ensure_future(self.call(name, given))
                self.started.setdefault(given.get("as") or given["method"], []).append(task)
            await asyncio.sleep(0)
        elif what == "wait":
            await asyncio.gather(*self.started[given])
        elif what == "cancel":
            for task in self.started[given]:
                task.cancel()
        else:
            raise AssertionError(f"there is no step {what}")

    async def call(self, name: str, call: dict[str, Any]) -> None:
        """One call, and its outcome."""
        progress: list[dict[str, Any]] = []
        started = time.monotonic()
        outcome: dict[str, Any] = {}
        try:
            outcome["ok"] = await self.result(call, progress)
        except oncewire.OncewireError as error:
            kind = next(word for kind, word in _CLASSES.items() if isinstance(error, kind))
            outcome["error"] = {**error.to_dict(), "class": kind, "text": str(error)}
            self.texts += [str(error), repr(error), repr(vars(error))]
        except asyncio.CancelledError:
            outcome["cancelled"] = True
        outcome["elapsed_ms"] = round((time.monotonic() - started) * 1000)
        outcome["progress"] = progress
        self.calls[name] = outcome

    async def result(self, call: dict[str, Any], progress: list[dict[str, Any]]) -> Any:
        """What the method gives, with the names of the wire."""
        method, given = call["method"], call.get("arguments", {})
        if method == "connect":
            await self.connect()
            return None
        assert self.client is not None
        options = _in_seconds({name: value for name, value in call.get("options", {}).items() if value is not None})
        if options.pop("on_progress", False):
            options["on_progress"] = lambda said: progress.append(dataclasses.asdict(said))
        values = [given.get(argument) for argument in _ARGUMENTS.get(method, ())]
        if method == "complete":
            values = [given["ref"], given["argument"]["name"], given["argument"]["value"]]
        if method.startswith("list_"):
            options |= given
        result = await getattr(self.client, method)(*values, **options)
        return result.to_dict() if hasattr(result, "to_dict") else result

    async def connect(self) -> None:
        """Makes the client."""
        assert self.scenario is not None
        given = {name: value for name, value in self.vector["client"].items() if value is not None}
        options = _in_seconds(given)
        tokens, handlers = options.pop("tokens", None), options.pop("handlers", {})
        options["tool_options"] = {
            tool: _in_seconds({name: value for name, value in of_tool.items() if value is not None})
            for tool, of_tool in options.pop("tools", {}).items()
        }
        if tokens is not None:

            async def token(_: str | None) -> str:
                self.tokens_asked += 1
                handed_out: str = tokens[min(self.tokens_asked, len(tokens)) - 1]
                return handed_out

            options["token"] = token
        takes = handlers.pop("takes_ms", 0) / 1000
        for name, answer in handlers.items():
            if answer is not None:
                options[f"on_{name}"] = _handler(answer, takes)
        self.client = await oncewire.connect(self.scenario.url, on_event=self.event, **options)

    def event(self, event: oncewire.Event) -> None:
        """Keeps it."""
        self.events.append(event.to_dict())
        self.texts.append(repr(event))


def _handler(answer: Any, takes: float) -> Any:
    async def handle(*_: Any) -> Any:
        await asyncio.sleep(takes)
        if isinstance(answer, dict) and "$fails" in answer:
            raise RuntimeError(answer["$fails"])
        return answer

    return handle


def _names(call: dict[str, Any]) -> list[str]:
    name = call.get("as") or call["method"]
    times = call.get("times")
    return [name] if times is None else [f"{name}.{nth}" for nth in range(times)]


def _in_seconds(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value / 1000 if name in _DURATIONS else value for name, value in options.items()}


class Runs:
    """All vectors that were asked for, many at a time."""

    def __init__(self, server: support.FaultServer, vectors: list[dict[str, Any]]) -> None:
        self.outcomes: dict[str, Future[list[str]]] = {vector["name"]: Future() for vector in vectors}
        self.tokens = {token for vector in vectors for token in vector["client"].get("tokens") or []}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._all(server, vectors)), daemon=True)
        self._thread.start()

    async def _all(self, server: support.FaultServer, vectors: list[dict[str, Any]]) -> None:
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(vector: dict[str, Any]) -> None:
            async with slots:
                outcome = self.outcomes[vector["name"]]
                try:
                    outcome.set_result(await asyncio.wait_for(Run(server, vector).failures(), 120))
                except BaseException as error:
                    outcome.set_exception(error)

        await asyncio.gather(*map(one, vectors))


@pytest.fixture(scope="module")
def log_lines() -> Iterator[LogLines]:
    """Every log line of this file's tests."""
    handler, logger = LogLines(), logging.getLogger("oncewire")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, server: support.FaultServer, log_lines: LogLines) -> Runs:
    """The vectors of the tests that were chosen."""
    chosen = [item.callspec.params.get("vector") for item in request.session.items if hasattr(item, "callspec")]
    return Runs(server, [vector for vector in chosen if isinstance(vector, dict)])


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["name"]) for vector in _vectors()])
def a_scenario_ends_as_it_must(runs: Runs, vector: dict[str, Any]) -> None:
    assert runs.outcomes[vector["name"]].result(300) == []


def no_token_is_in_any_log_line(runs: Runs, log_lines: LogLines) -> None:
    for outcome in runs.outcomes.values():
        outcome.exception(300)
    support.until(lambda: len(log_lines.lines) > 0)
    assert [line for line in log_lines.lines if any(token in line for token in runs.tokens)] == []
