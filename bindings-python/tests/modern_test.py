"""The modern era (2026-07-28): found out by itself, without a handshake, with questions in answers, tasks and a cache."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import oncewire
import pytest
from conftest import Scenarios

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
TASKS: dict[str, dict[str, Any]] = {"io.modelcontextprotocol/tasks": {}}


@pytest.mark.parametrize(
    ("speaks", "asked_for", "era", "probes", "handshakes"),
    [
        ("modern", "auto", "modern", 1, 0),
        ("dual", "auto", "modern", 1, 0),
        ("legacy", "auto", "legacy", 1, 1),
        ("dual", "legacy", "legacy", 0, 1),
        ("modern", "modern", "modern", 1, 0),
    ],
)
async def the_era_is_that_of_the_server_unless_it_is_said(
    scenario: Scenarios, speaks: str, asked_for: oncewire.Era, era: str, probes: int, handshakes: int
) -> None:
    there = scenario(era=speaks)
    async with oncewire.connect(there.url, era=asked_for) as client:
        assert (client.era, client.generation, client.state) == (era, 1, "ready")
        assert client.protocol_version == ("2026-07-28" if era == "modern" else "2025-11-25")
        assert client.server_info is not None
        assert client.server_info["name"] == "fault-server"
        assert client.capabilities is not None
        assert "tools" in client.capabilities
        assert (await client.call_tool("poke")).result_type == "complete"
    assert there.arrivals(rpc="server/discover") == probes
    assert there.arrivals(rpc="initialize") == handshakes


async def an_era_that_the_server_does_not_speak_is_an_error(scenario: Scenarios) -> None:
    with pytest.raises(oncewire.NotExecutedError) as raised:
        await oncewire.connect(scenario().url, era="modern")
    assert raised.value.kind == "protocol"


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def extensions_are_declared_as_they_are(scenario: Scenarios, era: oncewire.Era) -> None:
    extensions = {"dev.example/one": {"a": [1, {"b": "c"}], "n": 2**63 - 1}, **TASKS}
    there = scenario(era=era)
    async with oncewire.connect(there.url, extensions=extensions) as client:
        await client.call_tool("peek")
    arrivals = there.ledger()["arrivals"]
    if era == "modern":
        declared = [each["meta"][CAPABILITIES]["extensions"] for each in arrivals if each["name"] == "peek"]
    else:
        declared = [each["params"]["capabilities"]["extensions"] for each in arrivals if each["rpc"] == "initialize"]
    assert declared == [extensions]


@pytest.mark.parametrize(
    ("extensions", "kind", "text"),
    [
        (3, TypeError, "extensions: must be a mapping, not int"),
        ({"dev.example/one": {"at": object()}}, TypeError, "extensions["),
        ({"dev.example/one": 1}, oncewire.NotExecutedError, "extensions"),
    ],
)
def extensions_that_cannot_be_declared_name_themselves(extensions: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as raised:
        oncewire.connect_sync("http://127.0.0.1:1/mcp", extensions=extensions)
    assert text in str(raised.value)


@pytest.mark.parametrize(("cache", "requests"), [(True, 1), (False, 3), (None, 3)])
async def lists_are_answered_from_memory_if_both_sides_want_it(
    scenario: Scenarios, cache: bool | None, requests: int
) -> None:
    there = scenario(era="modern", keep={"prompts/list": {"ttl_ms": 60_000, "scope": "public"}})
    async with oncewire.connect(there.url, cache=cache) as client:
        lists = [await client.list_prompts() for _ in range(3)]
    assert lists[0].prompts
    assert lists[0] == lists[1] == lists[2]
    assert there.arrivals(rpc="prompts/list") == requests


async def a_task_is_an_answer_that_says_so(scenario: Scenarios) -> None:
    task = {"resultType": "task", "taskId": "t1", "status": "working", "n": 10**30}
    # As text: the fault server would round the number.
    text = f'{{"jsonrpc": "2.0", "id": $id, "result": {json.dumps(task)}}}'
    answer = {"respond": {"headers": {"Content-Type": "application/json"}, "text": text}}
    there = scenario({"when": {"name": "poke"}, "do": ["execute", answer]}, era="modern")
    async with oncewire.connect(there.url, extensions=TASKS) as client:
        result = await client.call_tool("poke")
    assert (result.result_type, result.task, result.content, result.is_error) == ("task", task, [], False)
    assert there.executions(name="poke") == 1


def a_task_is_read_in_both_shapes_and_every_digit_of_it() -> None:
    read = oncewire.CallToolResult._of  # pyright: ignore[reportPrivateUsage]
    beside = {"resultType": "task", "taskId": "t1", "n": 10**30}
    assert read(beside).task == beside
    within = {"task": {"taskId": "t1", "n": 10**30}}
    assert (read(within).result_type, read(within).task) == ("complete", within["task"])
    assert (read({}).result_type, read({}).task) == ("complete", None)
    assert read({"resultType": "dev.example/other"}).task is None


FORM = {"message": "who?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}}
THINK = {"messages": [], "maxTokens": 5}
ASKED: dict[str, dict[str, Any]] = {
    "who": {"method": "elicitation/create", "params": FORM},
    "think": {"method": "sampling/createMessage", "params": THINK},
    "where": {"method": "roots/list"},
}
TOLD: dict[str, dict[str, Any]] = {
    "who": {"action": "accept", "content": {"name": "me"}},
    "think": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "hi"}},
    "where": {"roots": [{"uri": "file:///home"}]},
}


async def what_the_server_asks_in_its_answer_is_put_to_the_handlers(scenario: Scenarios) -> None:
    heard: dict[str, Any] = {}

    async def elicitation(params: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        heard["who"] = params
        return TOLD["who"]

    def sampling(params: Any) -> dict[str, Any]:
        heard["think"] = params
        return TOLD["think"]

    there = scenario(era="modern", asks={"poke": {"rounds": [{"requests": ASKED, "state": "s"}]}})
    async with oncewire.connect(
        there.url, on_elicitation=elicitation, on_sampling=sampling, on_roots=lambda: TOLD["where"]
    ) as client:
        assert (await client.call_tool("poke")).text == "poke done"
    assert heard == {"who": FORM, "think": THINK}
    legs = [each["params"] for each in there.ledger()["arrivals"] if each["name"] == "poke"]
    assert [(leg.get("inputResponses"), leg.get("requestState")) for leg in legs] == [(None, None), (TOLD, "s")]


def a_blocking_client_is_asked_too(scenario: Scenarios) -> None:
    there = scenario(era="modern", asks={"poke": {"rounds": [{"requests": {"who": ASKED["who"]}}]}})
    with oncewire.connect_sync(there.url, on_elicitation=lambda _: TOLD["who"]) as client:
        assert client.era == "modern"
        assert client.call_tool("poke").text == "poke done"


async def a_question_that_nobody_answers_fails_the_call(scenario: Scenarios) -> None:
    def elicitation(_: Any) -> dict[str, Any]:
        raise LookupError("the user went away")

    there = scenario(era="modern", asks={"poke": {"rounds": [{"requests": {"who": ASKED["who"]}}]}})
    async with oncewire.connect(there.url, on_elicitation=elicitation) as client:
        with pytest.raises(oncewire.MayHaveExecutedError) as raised:
            await client.call_tool("poke")
    assert raised.value.kind in {"protocol", "config"}
    assert there.executions(name="poke", asked=False) == 0


async def cancelling_closes_the_stream_and_says_no_more(scenario: Scenarios) -> None:
    there = scenario(era="modern")
    async with oncewire.connect(there.url) as client:
        call = asyncio.ensure_future(client.call_tool("slow"))
        await asyncio.to_thread(there.control, {"await": {"count": "executions", "where": {"name": "slow"}, "is": 1}})
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        gone = {"name": "slow", "client_gone_at_ms": {"$not": None}}
        await asyncio.to_thread(there.control, {"await": {"count": "arrivals", "where": gone, "is": 1}})
        assert (await client.call_tool("peek")).text
    assert there.ledger()["cancelled"] == []
    assert there.arrivals(rpc="notifications/cancelled") == 0


async def a_tool_that_cannot_be_called_is_left_out_with_an_event(scenario: Scenarios) -> None:
    events: list[oncewire.Event] = []
    schema = {"properties": {"a": {"type": "string", "x-mcp-header": "not a name"}}}
    there = scenario(era="modern", tools={"bad": {"inputSchema": schema}})
    async with oncewire.connect(there.url, on_event=events.append) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert "bad" not in names
    assert "poke" in names
    dropped = [event for event in events if event.event == "tool_dropped"]
    assert [event.name for event in dropped] == ["bad"]
    assert dropped[0].reason
