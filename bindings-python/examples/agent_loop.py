"""A plain agent loop that looks before it repeats.

When a tool call gets no answer the tool may have run. The loop does not guess: it calls the tool that shows whether it did, and gives
the model both, the error's own text and what was seen.

    python agent_loop.py http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import oncewire


@dataclass(frozen=True)
class ToolUse:
    """The model wants a tool to be run."""

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Turn:
    """What a model says next: tools to run, or its answer."""

    text: str = ""
    tools: Sequence[ToolUse] = ()


Model = Callable[[list[str]], Awaitable[Turn]]
"""Reads what was said so far, says what is next. Yours asks a real one."""


async def run(client: oncewire.Client, model: Model, task: str, verify_with: Mapping[str, str]) -> str:
    """Runs the loop until the model answers. `verify_with` names for each tool the one that shows what it did."""
    said = [task]
    while True:
        turn = await model(said)
        if not turn.tools:
            return turn.text
        for use in turn.tools:
            said.append(await run_tool(client, use, verify_with))


async def run_tool(client: oncewire.Client, use: ToolUse, verify_with: Mapping[str, str]) -> str:
    """Runs one tool; in any case there is something to tell the model."""
    try:
        # The model's own id of the tool use is the key by which a server can tell a repeat from a new call.
        result = await client.call_tool(use.name, use.arguments, idempotency_key=use.id, timeout=30)
    except oncewire.MayHaveExecutedError as error:
        verifier = verify_with.get(use.name)
        if verifier is None:
            return str(error)
        return f"{error}\n{await look(client, verifier)}"
    except oncewire.OncewireError as error:
        # Its text says whether calling again is safe.
        return str(error)
    return f"{use.name} failed: {result.text}" if result.is_error else result.text


async def look(client: oncewire.Client, verifier: str) -> str:
    """What the verifier says, or why it says nothing: then the question stays open."""
    try:
        seen = await client.call_tool(verifier, timeout=30)
    except oncewire.OncewireError as error:
        return f"{verifier} could not be asked: {error}"
    return f"{verifier} now says: {seen.text}"


async def main(url: str) -> None:
    """Asks you in place of a model."""

    async def you(said: list[str]) -> Turn:
        print(said[-1])
        name = (await asyncio.to_thread(input, "tool to run, or nothing to stop: ")).strip()
        return Turn(tools=[ToolUse(f"use-{len(said)}", name)]) if name else Turn("done")

    async with oncewire.connect(url) as client:
        print(await run(client, you, "You are the model.", {"create_draft": "list_drafts"}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
