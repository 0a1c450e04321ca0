"""The tools of an MCP server as LangChain tools.

A failed call reaches the model as the error's own text, which says whether the tool ran, may have run, or did not.

    pip install langchain-core
    python langchain_tool.py http://127.0.0.1:8000/mcp
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import oncewire
from langchain_core.tools import BaseTool, StructuredTool, ToolException


async def tools_of(client: oncewire.Client) -> list[BaseTool]:
    """Every tool of the server."""
    return [as_langchain(client, tool) for tool in (await client.list_tools()).tools]


def as_langchain(client: oncewire.Client, tool: oncewire.Tool) -> BaseTool:
    """One tool."""

    async def call(**arguments: Any) -> str:
        try:
            result = await client.call_tool(tool.name, arguments)
        except oncewire.OncewireError as error:
            raise ToolException(str(error)) from error
        if result.is_error:
            raise ToolException(result.text)
        return result.text

    return StructuredTool.from_function(
        coroutine=call,
        name=tool.name,
        description=tool.description or tool.title or tool.name,
        args_schema=tool.input_schema or {"type": "object", "properties": {}},
        handle_tool_error=True,
    )


async def main(url: str) -> None:
    """Shows the tools, and calls those that take nothing and change nothing."""
    async with oncewire.connect(url) as client:
        listed = (await client.list_tools()).tools
        for tool, hints in zip(await tools_of(client), listed, strict=True):
            print(f"{tool.name}: {tool.description}")
            if hints.annotations.read_only_hint and not (hints.input_schema or {}).get("properties"):
                print("  says:", await tool.ainvoke({}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
