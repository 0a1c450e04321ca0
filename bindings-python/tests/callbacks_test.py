"""Callbacks: sync or async, on the right loop, in the right context; one that raises fails its own call only."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any

import oncewire
import pytest
import support
from conftest import Scenarios

WHO = contextvars.ContextVar("WHO", default="nobody")


def _both(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The function, and a coroutine function that does the same."""

    async def later(*arguments: Any) -> Any:
        await asyncio.sleep(0)
        return function(*arguments)

    return [function, later]


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def a_token_is_asked_for_once_and_again_with_the_refused_one(scenario: Scenarios, nth: int) -> None:
    asked: list[Any] = []
    threads: set[int] = set()

    def token(refused: str | None) -> str:
        asked.append(refused)
        threads.add(threading.get_ident())
        return f"token-{len(asked)}"

    there = scenario(tokens=["token-1"])
    async with oncewire.connect(there.url, token=_both(token)[nth]) as client:
        await asyncio.to_thread(there.control, {"accept_tokens": ["token-2"]})
        await asyncio.gather(*(client.call_tool("poke") for _ in range(8)))
    assert asked == [None, "token-1"]
    assert threads == {threading.get_ident()}
    assert there.executions(name="poke") == 8
    assert there.arrivals(rpc="initialize") == 1


async def a_token_that_does_not_change_is_a_str(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario(tokens=["fixed"]).url, token="fixed") as client:
        assert (await client.call_tool("peek")).text


@pytest.mark.parametrize(
    ("gives", "text"),
    [(KeyError("no secret here"), "KeyError"), (7, "token: must give a str, not int")],
)
async def a_token_provider_that_fails_fails_its_calls(scenario: Scenarios, gives: Any, text: str) -> None:
    def token(_: str | None) -> Any:
        if isinstance(gives, Exception):
            raise gives
        return gives

    there = scenario(tokens=["one"])
    with pytest.raises(oncewire.NotExecutedError) as raised:
        await oncewire.connect(there.url, token=token)
    assert raised.value.kind == "auth"
    assert text in str(raised.value)


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def headers_are_asked_for_before_each_attempt(scenario: Scenarios, nth: int) -> None:
    asked: list[int] = []

    def headers() -> dict[str, str]:
        asked.append(1)
        return {"X-Count": str(len(asked))}

    there = scenario(tokens=["one"])
    provider = _both(lambda: {**headers(), "Authorization": "Bearer one"})[nth]
    async with oncewire.connect(there.url, headers=provider, listen=False) as client:
        before = len(asked)
        await client.call_tool("peek")
        assert len(asked) == before + 1


async def headers_that_fail_fail_their_own_call(scenario: Scenarios) -> None:
    well = True

    def headers() -> dict[str, str]:
        if not well:
            raise ValueError("not now")
        return {}

    async with oncewire.connect(scenario().url, headers=headers, listen=False) as client:
        well = False
        with pytest.raises(oncewire.NotExecutedError, match="ValueError: not now"):
            await client.call_tool("poke")
        well = True
        assert (await client.call_tool("poke")).text


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def progress_comes_in_order_and_before_the_result(scenario: Scenarios, nth: int) -> None:
    told: list[Any] = []

    def progress(said: oncewire.Progress) -> None:
        told.append((said.progress, WHO.get(), threading.get_ident()))

    WHO.set("the caller")
    async with oncewire.connect(scenario(progress_every_ms=20).url) as client:
        await client.call_tool("slow", {"ms": 200}, on_progress=_both(progress)[nth])
        count = len(told)
        await asyncio.sleep(0.05)
    assert count == len(told) >= 5
    assert [each[0] for each in told] == sorted(each[0] for each in told)
    assert {each[1:] for each in told} == {("the caller", threading.get_ident())}


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def progress_that_raises_fails_its_own_call(scenario: Scenarios, nth: int) -> None:
    def progress(_: oncewire.Progress) -> None:
        raise LookupError("the bar broke")

    there = scenario(progress_every_ms=20)
    async with oncewire.connect(there.url) as client:
        neighbour = asyncio.ensure_future(client.call_tool("slow", {"ms": 300}))
        with pytest.raises(LookupError, match="the bar broke"):
            await client.call_tool("slow", {"ms": 2000}, on_progress=_both(progress)[nth])
        assert (await neighbour).text
        await asyncio.to_thread(there.control, {"await": {"count": "cancelled", "is": 1}})


def progress_of_a_blocking_call_comes_in_its_own_thread(scenario: Scenarios) -> None:
    told: list[Any] = []

    def progress(_: oncewire.Progress) -> None:
        told.append(threading.get_ident())

    async def later(said: oncewire.Progress) -> None:
        told.append(said.progress)

    def broken(_: oncewire.Progress) -> None:
        raise LookupError("the bar broke")

    with oncewire.connect_sync(scenario(progress_every_ms=20).url) as client:
        client.call_tool("slow", {"ms": 100}, on_progress=progress)
        assert set(told) == {threading.get_ident()}
        told.clear()
        client.call_tool("slow", {"ms": 100}, on_progress=later)
        assert len(told) >= 2
        with pytest.raises(LookupError):
            client.call_tool("slow", {"ms": 2000}, on_progress=broken)
        assert client.call_tool("peek").text


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def events_come_in_order_on_the_clients_loop(scenario: Scenarios, nth: int) -> None:
    told: list[Any] = []

    def event(said: oncewire.Event) -> None:
        told.append((said.event, threading.get_ident(), WHO.get()))

    WHO.set("who connected")
    there = scenario()
    async with oncewire.connect(there.url, on_event=_both(event)[nth]) as client:
        await asyncio.to_thread(there.control, "forget_sessions")
        await client.call_tool("peek")
    await asyncio.sleep(0.05)
    names = [each[0] for each in told]
    order = ["connecting", "ready", "session_lost", "recovering", "session_replaced", "call_finished", "closed"]
    assert [name for name in names if name in order and name != "attempt_failed"][:5] == order[:5]
    assert {each[1:] for each in told} == {(threading.get_ident(), "who connected")}


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def an_event_callback_that_raises_is_logged_and_harms_nobody(
    scenario: Scenarios, nth: int, caplog: pytest.LogCaptureFixture
) -> None:
    def event(_: oncewire.Event) -> None:
        raise LookupError("no")

    async with oncewire.connect(scenario().url, on_event=_both(event)[nth]) as client:
        assert (await client.call_tool("peek")).text
        await asyncio.sleep(0.05)
    assert any(record.message == "on_event raised" and record.exc_info for record in caplog.records)


async def events_can_be_read_as_a_stream(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario().url, listen=False) as client:
        seen: list[str] = []

        async def read_on() -> None:
            async for event in client.events():
                seen.append(event.event)

        reader = asyncio.ensure_future(read_on())
        await asyncio.sleep(0)
        await client.ping()
        await client.close()
        await asyncio.wait_for(reader, 5)
    assert seen[0] == "call_finished" and seen[-1] == "closed"


def events_can_be_read_as_a_blocking_stream(scenario: Scenarios) -> None:
    client = oncewire.connect_sync(scenario().url, listen=False)
    events = client.events()
    client.ping()
    assert next(events).method == "ping"
    client.close()
    assert [event.event for event in events] == ["closed"]


def _asks(method: str, params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": "ask-1", "method": method, "params": params}
    return {
        "when": {"name": "poke"},
        "times": 1,
        "do": ["execute", {"event": {"json": message}}, {"gate": "held"}, {"answer_event": {}}],
    }


async def _asked(there: support.Scenario, **options: Any) -> dict[str, Any]:
    """What the server got for its one question."""
    async with oncewire.connect(there.url, **options) as client:
        call = asyncio.ensure_future(client.call_tool("poke"))
        await asyncio.to_thread(there.control, {"await": {"count": "responses", "is": 1}})
        await asyncio.to_thread(there.control, {"release": "held"})
        assert (await call).text
    [response] = there.ledger()["responses"]
    got: dict[str, Any] = response
    return got


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("method", "option", "params", "answer"),
    [
        ("sampling/createMessage", "on_sampling", {"maxTokens": 5}, {"role": "assistant", "content": {"type": "text"}}),
        ("elicitation/create", "on_elicitation", {"message": "sure?"}, {"action": "accept", "content": {"yes": True}}),
        ("roots/list", "on_roots", None, {"roots": [{"uri": "file:///a"}]}),
    ],
)
async def the_server_is_answered(
    scenario: Scenarios, nth: int, method: str, option: str, params: Any, answer: Any
) -> None:
    got: list[Any] = []

    def handler(*arguments: Any) -> Any:
        got.extend(arguments)
        return answer

    response = await _asked(scenario(_asks(method, params)), **{option: _both(handler)[nth]})
    assert response["result"] == answer
    assert got == ([] if method == "roots/list" else [params])


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def a_handler_that_raises_fails_its_own_request(scenario: Scenarios, nth: int) -> None:
    def handler(_: Any) -> Any:
        raise LookupError("no model")

    there = scenario(_asks("sampling/createMessage", {}))
    response = await _asked(there, on_sampling=_both(handler)[nth])
    assert "LookupError: no model" in response["error"]["message"]


async def a_handler_whose_result_is_not_json_says_where(scenario: Scenarios) -> None:
    there = scenario(_asks("sampling/createMessage", {}))
    response = await _asked(there, on_sampling=lambda _: {"content": {"x": object()}})
    assert "on_sampling.content.x: a object is not JSON" in response["error"]["message"]


async def a_handler_is_cancelled_when_nobody_waits_any_more(scenario: Scenarios) -> None:
    cancelled = asyncio.Event()

    async def handler(_: Any) -> Any:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    there = scenario(_asks("sampling/createMessage", {}))
    client = await oncewire.connect(there.url, on_sampling=handler, close_timeout=0.3)
    call = asyncio.ensure_future(client.call_tool("poke"))
    await asyncio.to_thread(there.control, {"await_gate": {"gate": "held"}})
    await asyncio.sleep(0.05)
    await client.close()
    with pytest.raises(oncewire.MayHaveExecutedError):
        await call
    await asyncio.wait_for(cancelled.wait(), 5)


@pytest.mark.parametrize("nth", [0, 1], ids=["sync", "async"])
async def notifications_of_the_server_are_told(scenario: Scenarios, nth: int) -> None:
    told: asyncio.Queue[oncewire.ServerNotification] = asyncio.Queue()
    there = scenario()
    async with oncewire.connect(there.url, on_notification=_both(told.put_nowait)[nth]):
        await asyncio.to_thread(there.control, {"await": {"count": "arrivals", "where": {"http": "GET"}, "is": 1}})
        message = {"method": "notifications/message", "params": {"level": "info", "data": 1}}
        await asyncio.to_thread(_push, there, message)
        said = await asyncio.wait_for(told.get(), 5)
    assert (said.method, said.params, said.generation) == (message["method"], message["params"], 1)


async def a_burst_of_notifications_is_told_whole(scenario: Scenarios) -> None:
    message = {"method": "notifications/message", "params": {"level": "info", "data": "x"}}
    burst = [{"repeat": {"times": 5000, "do": [{"notify": message}]}}, {"answer_event": {}}, "end"]
    there = scenario({"when": {"name": "poke"}, "do": burst})
    told = 0

    def tell(_: oncewire.ServerNotification) -> None:
        nonlocal told
        told += 1

    async with oncewire.connect(there.url, on_notification=tell) as client:
        await client.call_tool("poke")
        for _ in range(200):
            if told == 5000:
                break
            await asyncio.sleep(0.01)
    assert told == 5000


def _push(there: support.Scenario, message: Any) -> None:
    there.control({"push": message})


def callbacks_of_a_blocking_client_run_in_a_thread_of_their_own(scenario: Scenarios) -> None:
    threads: set[str] = set()

    async def token(_: str | None) -> str:
        threads.add(threading.current_thread().name)
        return "one"

    def event(_: oncewire.Event) -> None:
        threads.add(threading.current_thread().name)

    with oncewire.connect_sync(scenario(tokens=["one"]).url, token=token, on_event=event) as client:
        assert client.call_tool("peek").text
    assert threads == {"oncewire-callbacks"}


async def the_caller_may_add_to_meta_and_name_the_key(scenario: Scenarios) -> None:
    there = scenario()
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with oncewire.connect(there.url) as client:
        await client.call_tool("poke", idempotency_key="toolu_7", meta={"traceparent": trace})
        await client.call_tool("poke", idempotency_key=False)
    keys = [execution["key"] for execution in there.ledger()["executions"] if execution["name"] == "poke"]
    assert keys == ["toolu_7", None]
    assert trace in str(there.ledger()["arrivals"])
