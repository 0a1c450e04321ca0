"""The examples, against the fault server, with a model that follows a script."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import oncewire
import pytest
import support
from conftest import Scenarios

PACKAGE = Path(__file__).resolve().parents[1]
sys.path.append(str(PACKAGE / "examples"))

LOST = {"when": {"name": "poke"}, "do": ["execute", "close"]}


async def the_agent_loop_looks_before_it_repeats(scenario: Scenarios) -> None:
    import agent_loop

    heard: list[str] = []

    async def model(said: list[str]) -> agent_loop.Turn:
        heard[:] = said
        if len(said) == 1:
            return agent_loop.Turn(tools=[agent_loop.ToolUse("use-1", "poke")])
        # Told that it may have run, and shown that it did, the model does not run it again.
        assert "the tool may have run: check before running it again" in said[-1]
        assert said[-1].endswith("peek now says: peek done")
        return agent_loop.Turn("poked, once")

    there = scenario(LOST)
    async with oncewire.connect(there.url) as client:
        assert await agent_loop.run(client, model, "Poke it.", {"poke": "peek"}) == "poked, once"
    assert len(heard) == 2
    assert there.executions(name="poke") == 1
    assert there.executions(name="peek") == 1
    assert [execution["key"] for execution in there.ledger()["executions"] if execution["name"] == "poke"] == ["use-1"]


async def langchain_hands_the_text_of_the_error_to_the_model(scenario: Scenarios) -> None:
    import langchain_tool
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

    calls = [{"name": "peek", "args": {}, "id": "1"}, {"name": "poke", "args": {}, "id": "2"}]
    script = iter(
        [AIMessage(content="", tool_calls=[calls[0]]), AIMessage(content="", tool_calls=[calls[1]]), AIMessage("done")]
    )
    model = GenericFakeChatModel(messages=script)
    there = scenario(LOST)
    said: list[BaseMessage] = [HumanMessage("Peek, then poke.")]
    async with oncewire.connect(there.url) as client:
        tools = {tool.name: tool for tool in await langchain_tool.tools_of(client)}
        while True:
            turn = await model.ainvoke(said)
            said.append(turn)
            if not turn.tool_calls:
                break
            for call in turn.tool_calls:
                said.append(await tools[call["name"]].ainvoke(call))
    answers = [message for message in said if isinstance(message, ToolMessage)]
    assert answers[0].content == "peek done"
    assert "the tool may have run: check before running it again" in str(answers[1].content)
    assert answers[1].status == "error"
    assert there.executions(name="poke") == 1


def _retried(part: Any) -> bool:
    # Older versions have a kind of part of its own for it.
    return type(part).__name__ == "RetryPromptPart" or getattr(part, "outcome", None) == "retried"


async def pydantic_ai_tries_again_only_what_was_not_executed(scenario: Scenarios) -> None:
    import pydantic_ai_tool
    from pydantic_ai.messages import (
        ModelMessage,
        ModelResponse,
        TextPart,
        ToolCallPart,
    )
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    heard: list[Any] = []

    def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        heard.append(last)
        if len(messages) == 1 or _retried(last):
            return ModelResponse(parts=[ToolCallPart("nudge", {})])
        if len(heard) == 3:
            return ModelResponse(parts=[ToolCallPart("poke", {})])
        return ModelResponse(parts=[TextPart("done")])

    # The call and its twin are turned away, for longer than is waited for.
    busy = {"status": 429, "headers": {"Retry-After": "3600"}, "text": "no"}
    refused = {"when": {"rpc": ["tools/call", "ping"]}, "times": 2, "do": [{"respond": busy}]}
    there = scenario(LOST, refused)
    assert await pydantic_ai_tool.run(there.url, FunctionModel(model), "Nudge, then poke.") == "done"
    assert [_retried(part) for part in heard[1:]] == [True, False, False]
    assert "the tool may have run: check before running it again" in str(heard[3].content)
    assert there.executions(name="nudge") == 1
    assert there.executions(name="poke") == 1


@pytest.mark.parametrize("example", ["langchain_tool", "pydantic_ai_tool"])
def an_example_runs_as_it_says(scenario: Scenarios, example: str) -> None:
    code = f"import runpy, sys; sys.argv[0] = 'x'; runpy.run_path({str(PACKAGE / 'examples' / example)!r} + '.py', run_name='__main__')"
    assert "peek" in support.program(code, scenario(slow_ms=10).url)


def the_agent_loop_runs_as_it_says(scenario: Scenarios) -> None:
    code = f"""
import builtins, runpy, sys
answers = iter(["peek", ""])
builtins.input = lambda _: next(answers)
runpy.run_path({str(PACKAGE / "examples" / "agent_loop.py")!r}, run_name="__main__")
"""
    assert support.program(code, scenario().url) == "You are the model.\npeek done\ndone\n"


def _blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (PACKAGE / "README.md").read_text(), re.DOTALL | re.MULTILINE)


async def the_first_example_of_the_readme_runs(
    scenario: Scenarios, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drafts = '{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"to ada"}]}}'
    there = scenario(
        {"when": {"name": "create_draft"}, "do": ["execute", "close"]},
        {
            "when": {"name": "list_drafts"},
            "do": [{"respond": {"status": 200, "text": drafts, "headers": {"Content-Type": "application/json"}}}],
        },
    )
    names: dict[str, Any] = {"__name__": "readme"}
    exec(_blocks()[0].replace("http://127.0.0.1:8000/mcp", there.url), names)
    await names["main"]()
    assert capsys.readouterr().out == "to ada\n"


def the_blocking_example_of_the_readme_runs(scenario: Scenarios) -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    exec(_blocks()[1], names)
    assert names["peek"](scenario().url) == "peek done"


def the_examples_of_the_readme_pass_the_type_checkers(tmp_path: Path) -> None:
    for nth, block in enumerate(_blocks()):
        (tmp_path / f"readme_{nth}.py").write_text("from __future__ import annotations\n" + block)
    asyncio.run(_check("mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    asyncio.run(_check("pyright", "--pythonpath", sys.executable, "--project", str(tmp_path)))


async def _check(module: str, *arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
