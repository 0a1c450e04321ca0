"""The tools of an MCP server as tools of a Pydantic AI agent.

The two failures go two ways. What was not executed is proven safe, so the model is asked to try again; what may have been executed is told as a
result, so that nothing calls it again by itself.

    pip install pydantic-ai-slim
    python pydantic_ai_tool.py http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any, cast

import oncewire
from pydantic_ai import Agent, ModelRetry, Tool
from pydantic_ai.models import Model
from pydantic_ai.models.test import TestModel


async def tools_of(client: oncewire.Client) -> list[Tool[None]]:
    """Every tool of the server."""
    return [as_pydantic_ai(client, tool) for tool in (await client.list_tools()).tools]


def as_pydantic_ai(client: oncewire.Client, tool: oncewire.Tool) -> Tool[None]:
    """One tool."""

    async def call(**arguments: Any) -> str:
        try:
            result = await client.call_tool(tool.name, arguments)
        except oncewire.NotExecutedError as error:
            raise ModelRetry(str(error)) from error
        except oncewire.OncewireError as error:
            return str(error)
        return result.text

    schema = tool.input_schema or {"type": "object", "properties": {}}
    made = cast("Any", Tool).from_schema(call, tool.name, tool.description or tool.title, schema)
    return cast("Tool[None]", made)


async def run(url: str, model: Model, task: str) -> str:
    """Runs an agent that has the server's tools."""
    async with oncewire.connect(url) as client:
        agent = Agent(model, deps_type=type(None), tools=await tools_of(client))
        return (await agent.run(task)).output


if __name__ == "__main__":
    # A model that needs no key: it calls every tool once. Put yours here.
    print(asyncio.run(run(sys.argv[1], TestModel(), "Use the tools.")))
