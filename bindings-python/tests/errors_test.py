"""The error: its class says what to do next, its fields say what happened."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import socket
from datetime import timedelta
from typing import Any

import oncewire
import pytest
from conftest import Scenarios

CUT = {"when": {"name": "poke"}, "do": ["execute", {"comment": "on"}, "close"]}


async def _failure(there: Any, name: str = "poke", **options: Any) -> oncewire.OncewireError:
    async with oncewire.connect(there.url) as client:
        with pytest.raises(oncewire.OncewireError) as raised:
            await client.call_tool(name, **options)
    return raised.value


async def a_lost_answer_may_have_executed(scenario: Scenarios) -> None:
    there = scenario(CUT)
    error = await _failure(there, idempotency_key="toolu_1")
    assert type(error) is oncewire.MayHaveExecutedError
    assert (error.kind, error.execution, error.proof) == ("stream_ended", "may_have_executed", None)
    assert (error.method, error.name, error.phase, error.http_status) == ("tools/call", "poke", "streaming", 200)
    assert (error.idempotency_key, error.generation) == ("toolu_1", 1)
    [attempt] = error.attempts
    assert (attempt.kind, attempt.execution, attempt.response_started) == ("stream_ended", "may_have_executed", True)
    assert attempt.elapsed < timedelta(seconds=5) and attempt.started.tzinfo is not None
    assert str(error).endswith('after tools/call "poke" was sent; the tool may have run: check before running it again')
    assert there.executions(name="poke") == 1


async def a_refusal_was_not_executed(scenario: Scenarios) -> None:
    # The twin of the call, too; of a page it asks twice.
    refused = {
        "when": {"rpc": ["tools/call", "ping", "tools/list"]},
        "do": [{"respond": {"status": 413, "text": "<html>too large</html>"}}],
    }
    error = await _failure(scenario(refused))
    assert type(error) is oncewire.NotExecutedError
    assert (error.kind, error.proof, error.http_status) == ("http_status", "rejected", 413)
    assert (error.proof_basis, error.attempts[0].proof_basis) == ("confirmed", "confirmed")
    assert "too large" in str(error)


async def a_long_retry_after_is_told(scenario: Scenarios) -> None:
    busy = {
        "when": {"rpc": ["tools/call", "ping"]},
        "do": [{"respond": {"status": 429, "headers": {"Retry-After": "3600"}, "text": ""}}],
    }
    error = await _failure(scenario(busy))
    assert isinstance(error, oncewire.NotExecutedError)
    assert "wait 3600 s" in str(error)
    assert (error.kind, error.retry_after) == ("rate_limited", timedelta(hours=1))


async def an_error_of_the_server_is_an_answer(scenario: Scenarios) -> None:
    text = '{"jsonrpc":"2.0","id":$id,"error":{"code":-32050,"message":"no","data":{"n":%d}}}' % 10**30
    answer = {"respond": {"status": 200, "headers": {"Content-Type": "application/json"}, "text": text}}
    error = await _failure(scenario({"when": {"name": "poke"}, "do": ["execute", answer]}))
    assert type(error) is oncewire.AnsweredError
    assert (error.code, error.message, error.data) == (-32050, "no", {"n": 10**30})
    assert (error.kind, error.execution) == ("rpc", "answered")


async def a_result_that_is_none_is_an_answer(scenario: Scenarios) -> None:
    answer = {"respond": {"json": {"jsonrpc": "2.0", "id": "$id", "result": ["done"]}}}
    error = await _failure(scenario({"when": {"name": "poke"}, "do": ["execute", answer]}))
    assert type(error) is oncewire.AnsweredError
    assert (error.kind, error.code, error.data) == ("protocol", 0, ["done"])


async def a_timeout_is_also_a_timeout_error(scenario: Scenarios) -> None:
    there = scenario({"when": {"name": "poke"}, "do": ["execute", "hold"]})
    error = await _failure(there, timeout=timedelta(milliseconds=50))
    assert isinstance(error, oncewire.MayHaveExecutedError) and isinstance(error, TimeoutError)
    assert error.kind == "timeout"
    assert (await _failure(there, timeout=0.05)).kind == "timeout"
    assert len(there.ledger()["cancelled"]) == 2


def _dead_port() -> str:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{made.getsockname()[1]}/mcp"


async def a_failed_connection_is_also_a_connection_error() -> None:
    with pytest.raises(ConnectionError) as raised:
        await oncewire.connect(_dead_port(), connect_patience=0)
    error = raised.value
    assert isinstance(error, oncewire.NotExecutedError)
    assert (error.kind, error.proof, error.method) == ("connect", "never_sent", "initialize")
    assert (error.proof_basis, error.to_dict()["proof_basis"]) == ("certain", "certain")


async def an_error_pickles_copies_and_is_json(scenario: Scenarios) -> None:
    errors = [
        await _failure(scenario(CUT)),
        await _failure(scenario({"when": {"name": "poke"}, "do": ["hold"]}), timeout=0.05),
        await _failure(scenario(), name="no such tool"),
    ]
    with pytest.raises(ConnectionError) as raised:
        await oncewire.connect(_dead_port(), connect_patience=0)
    assert isinstance(raised.value, oncewire.OncewireError)
    for error in [*errors, raised.value]:
        for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
            assert type(twin) is type(error)
            assert str(twin) == str(error)
            assert twin.to_dict() == error.to_dict()
            assert twin.attempts == error.attempts
        as_json = json.loads(json.dumps(error.to_dict()))
        assert as_json["text"] == str(error)
        assert as_json["kind"] == error.kind


async def cancelling_the_task_is_the_hosts_own_error(scenario: Scenarios) -> None:
    there = scenario({"when": {"name": "poke"}, "do": ["execute", "hold"]})
    events: list[oncewire.Event] = []
    async with oncewire.connect(there.url, on_event=events.append) as client:
        call = asyncio.ensure_future(client.call_tool("poke", idempotency_key="mine"))
        await asyncio.to_thread(there.control, {"await": {"count": "executions", "where": {"name": "poke"}, "is": 1}})
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.call_tool("poke"), 0.05)
        await asyncio.to_thread(there.control, {"await": {"count": "cancelled", "is": 2}})
    verdict = next(event for event in events if event.event == "call_finished" and event.idempotency_key == "mine")
    assert (verdict.kind, verdict.execution) == ("cancelled", "may_have_executed")


async def a_call_that_was_cancelled_sends_nothing_any_more(scenario: Scenarios) -> None:
    there = scenario({"when": {"rpc": "initialize"}, "do": [{"gate": "held"}, "answer"]})
    async with oncewire.connect(there.url, lazy=True) as client:
        calls = [asyncio.ensure_future(client.call_tool("poke")) for _ in range(50)]
        await asyncio.to_thread(there.control, {"await_gate": {"gate": "held"}})
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        # Without a pause: what the calls waited for comes now.
        there.control({"release": "held"})
        assert (await client.call_tool("peek")).text
    assert all(call.cancelled() for call in calls)
    assert there.arrivals(name="poke") == 0


async def a_cancelled_connect_leaves_no_session(scenario: Scenarios) -> None:
    there = scenario({"when": {"rpc": "initialize"}, "do": [{"gate": "held"}, "answer"]})
    connecting = asyncio.ensure_future(oncewire.connect(there.url).__aenter__())
    await asyncio.to_thread(there.control, {"await_gate": {"gate": "held"}})
    connecting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await connecting
    await asyncio.to_thread(there.control, {"release": "held"})
    await asyncio.to_thread(there.control, {"await": {"count": "arrivals", "where": {"http": "DELETE"}, "is": 1}})


async def the_classes_are_those_of_the_design() -> None:
    for kind in (oncewire.NotExecutedError, oncewire.MayHaveExecutedError, oncewire.AnsweredError):
        assert issubclass(kind, oncewire.OncewireError)
        assert kind.__module__ == "oncewire.errors"
    assert not issubclass(oncewire.OncewireError, OSError)
