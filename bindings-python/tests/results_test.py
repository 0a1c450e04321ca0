"""Arguments go out exactly, results come in exactly."""

from __future__ import annotations

import copy
import dataclasses
import enum
import json
import math
import pickle
import types
from datetime import date
from typing import Any

import oncewire
import pytest
from conftest import Scenarios
from oncewire import _native

HUGE = 10**40 + 7
# Past the limit of digits that Python reads by itself.
ENDLESS = "9" * 6_000

RESULT = (
    '{"content":[{"type":"text","text":"a","n":%d},{"type":"hologram"}],"structuredContent":{"n":%d,"long":%s,"f":1.5},'
    '"isError":false,"_meta":{"m":-%d},"future":{"of":[%d]}}' % (HUGE, HUGE, ENDLESS, HUGE, HUGE)
)


def _answers(result: str) -> dict[str, Any]:
    text = '{"jsonrpc":"2.0","id":$id,"result":%s}' % result
    return {"when": {"name": "poke"}, "do": ["execute", {"respond": {"status": 200, "text": text, "headers": JSON}}]}


JSON = {"Content-Type": "application/json"}


async def a_result_keeps_every_digit_and_what_is_not_known_of(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario(_answers(RESULT)).url) as client:
        result = await client.call_tool("poke")
    assert result.structured_content is not None and result.meta is not None
    assert result.structured_content["n"] == HUGE
    assert result.structured_content["long"] == 10**6_000 - 1
    assert type(result.structured_content["f"]) is float
    assert result.meta["m"] == -HUGE
    assert result.content[0]["n"] == HUGE
    assert result.text == "a"
    assert result.is_error is False
    assert result.to_dict()["future"] == {"of": [HUGE]}
    assert list(result.to_dict()) == ["content", "structuredContent", "isError", "_meta", "future"]


async def results_are_frozen_comparable_and_can_be_copied(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario().url) as client:
        result = await client.call_tool("peek")
        tools = await client.list_tools()
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.is_error = True  # type: ignore[misc]
    result.to_dict()["content"].clear()
    assert result.content != []
    assert pickle.loads(pickle.dumps(result)) == result == copy.deepcopy(result)
    by_name = {tool.name: tool for tool in tools.tools}
    assert by_name["peek"].annotations.read_only_hint is True
    assert by_name["nudge"].annotations.idempotent_hint is True
    assert by_name["poke"].annotations.read_only_hint is None
    assert tools.to_dict()["tools"] == [tool.to_dict() for tool in tools.tools]


async def a_result_of_an_odd_shape_is_an_answer_all_the_same(scenario: Scenarios) -> None:
    async with oncewire.connect(
        scenario(_answers('{"content":"text","isError":"yes","structuredContent":7}')).url
    ) as client:
        result = await client.call_tool("poke")
    assert (result.content, result.is_error, result.text) == ([], False, "")
    assert result.to_dict()["content"] == "text"


class _Colour(str, enum.Enum):
    RED = "red"


class _Number(enum.IntEnum):
    ONE = 1


async def arguments_arrive_as_they_were_given(scenario: Scenarios) -> None:
    arguments: dict[str, Any] = {
        "z": [1, -HUGE, 2**63, 0.1, 1e300, True, None],
        "a": ("tuple", {'é\n"': "\u2028😀"}),
        "empty": [{}, [], ""],
        "enums": [_Colour.RED, _Number.ONE],
        "mapping": types.MappingProxyType({"k": 1}),
    }
    sent = json.loads(_native.to_json(arguments, "arguments"))
    assert sent["z"] == arguments["z"]
    assert sent["a"] == ["tuple", {'é\n"': "\u2028😀"}]
    assert sent["enums"] == ["red", 1]
    assert sent["mapping"] == {"k": 1}
    assert list(sent) == list(arguments)
    del arguments["z"]
    async with oncewire.connect(scenario().url) as client:
        result = await client.call_tool("echo", arguments)
    assert result.structured_content == {name: sent[name] for name in arguments}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"to": [{"when": date(2026, 1, 1)}]}, "arguments.to[0].when: a datetime.date is not JSON"),
        ({"a b": {1: 2}}, 'arguments["a b"]: the key 1 is a int, and must be a str'),
        ({"x": math.nan}, "arguments.x: NaN is not JSON"),
        ({"x": (1, math.inf)}, "arguments.x[1]: inf is not JSON"),
        ({"x": {1, 2}}, "arguments.x: a set is not JSON"),
        ({"x": b"bytes"}, "arguments.x: a bytes is not JSON"),
        ({"x": "\ud800"}, "arguments.x: a str with a lone surrogate is not JSON"),
        ({"x": object}, "arguments.x: a type is not JSON"),
    ],
)
async def what_is_not_json_is_named_by_its_path(scenario: Scenarios, arguments: Any, text: str) -> None:
    there = scenario()
    async with oncewire.connect(there.url) as client:
        with pytest.raises(TypeError) as raised:
            await client.call_tool("poke", arguments)
    assert str(raised.value) == text
    assert there.executions(name="poke") == 0


async def a_circle_is_not_json() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="in a circle"):
        _native.to_json(circle, "arguments")


async def arguments_that_are_no_object_are_refused_by_the_core(scenario: Scenarios) -> None:
    there = scenario()
    async with oncewire.connect(there.url) as client:
        with pytest.raises(oncewire.NotExecutedError, match="arguments: it is not a JSON object") as raised:
            await client.call_tool("poke", [1])  # type: ignore[arg-type]
    assert (raised.value.kind, raised.value.proof) == ("config", "never_sent")


async def a_raw_request_goes_both_ways_exactly(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario().url) as client:
        result = await client.request("dev.oncewire.tests/custom", {"n": HUGE})
    assert isinstance(result, dict)


async def all_methods_give_their_own_type(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario(page_size=1).url) as client:
        everything = await client.list_tools()
        assert len(everything.tools) > 2 and everything.next_cursor is None
        assert [resource.uri for resource in (await client.list_resources()).resources] == [
            "mem://a",
            "mem://b",
            "mem://c",
        ]
        assert isinstance(await client.list_resource_templates(), oncewire.ListResourceTemplatesResult)
        prompts = await client.list_prompts()
        assert prompts.prompts[0].name == "hello"
        assert (await client.read_resource("mem://a")).contents[0]["uri"] == "mem://a"
        assert (await client.get_prompt("hello")).messages
        completed = await client.complete({"type": "ref/prompt", "name": "hello"}, "who", "a")
        assert isinstance(completed.values, list)
        context = {"context": {"arguments": {"a": "b"}}}
        await client.complete({"type": "ref/prompt", "name": "hello"}, "who", "a", param=context)
        for nothing in (
            await client.ping(),  # type: ignore[func-returns-value]
            await client.set_log_level("info"),  # type: ignore[func-returns-value]
            await client.subscribe("mem://a"),  # type: ignore[func-returns-value]
            await client.unsubscribe("mem://a"),  # type: ignore[func-returns-value]
            await client.recover(),  # type: ignore[func-returns-value]
        ):
            assert nothing is None
        assert client.generation == 2


def the_blocking_twin_has_the_same_methods_and_gives_the_same(scenario: Scenarios) -> None:
    with oncewire.connect_sync(scenario(page_size=1).url) as client:
        assert len(client.list_tools().tools) > 2
        assert len(client.list_resources().resources) == 3
        assert isinstance(client.list_resource_templates(), oncewire.ListResourceTemplatesResult)
        assert client.list_prompts().prompts[0].name == "hello"
        assert client.read_resource("mem://a").contents[0]["uri"] == "mem://a"
        assert client.get_prompt("hello").messages
        assert isinstance(client.complete({"type": "ref/prompt", "name": "hello"}, "who", "a").values, list)
        client.ping()
        client.set_log_level("info")
        client.subscribe("mem://a")
        client.unsubscribe("mem://a")
        assert isinstance(client.request("dev.oncewire.tests/custom", {"n": 1}), dict)
        client.recover()
        assert (client.generation, client.state, client.is_closed) == (2, "ready", False)
    assert (client.state, client.is_closed) == ("closed", True)
    public = {name for name in vars(oncewire.Client) if not name.startswith("_")}
    assert public == {name for name in vars(oncewire.SyncClient) if not name.startswith("_")}


async def a_list_with_a_cursor_is_one_page(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario(page_size=1).url, max_pages=1) as client:
        first = await client.list_tools()
        assert len(first.tools) == 1 and first.next_cursor is not None
        second = await client.list_tools(cursor=first.next_cursor, timeout=5)
        assert len(second.tools) == 1 and second.tools != first.tools


async def a_client_tells_of_itself_and_of_its_server(scenario: Scenarios) -> None:
    client = await oncewire.connect(scenario().url, lazy=True)
    assert (client.state, client.generation, client.server_info, client.era) == ("idle", 0, None, None)
    await client.ping()
    assert client.server_info is not None and client.server_info["name"] == "fault-server"
    assert client.capabilities is not None and "tools" in client.capabilities
    assert (client.protocol_version, client.era, client.state) == ("2025-11-25", "legacy", "ready")
    assert repr(client) == "<oncewire.Client ready, generation 1>"
    await client.close()
    await client.close()
    with pytest.raises(oncewire.NotExecutedError) as raised:
        await client.ping()
    assert raised.value.kind == "closed"
