"""The client that the official conformance suite drives, in Python: `client.py URL`, with the scenario in the environment.

It behaves alike in every scenario: it lists what the server offers and calls each of it once. The few that ask for more are named in `run`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

import oncewire

LIMIT = 20
"""The longest that a scenario may take, in seconds; the suite's own limit ends only the shell around us."""


async def run(url: str) -> None:
    """Plays the client in the scenario that the environment names."""
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    listening = asyncio.Event()

    def on_event(event: oncewire.Event) -> None:
        if event.event == "listener_on":
            listening.set()

    # What is left out is filled with the defaults of the schema: by the client, not here.
    def on_elicitation(_: Any) -> dict[str, Any]:
        return {"action": "accept", "content": {}}

    # Nothing asks for these two; they are declared.
    def on_sampling(_: Any) -> dict[str, Any]:
        raise RuntimeError("there is no model here")

    def on_roots() -> dict[str, Any]:
        return {"roots": []}

    async with oncewire.connect(
        url, on_elicitation=on_elicitation, on_sampling=on_sampling, on_roots=on_roots, on_event=on_event
    ) as client:
        if client.era != era():
            raise RuntimeError(f"the client speaks the wrong era: {client.era}")
        match scenario:
            case "elicitation-sep1034-client-defaults":
                # The server asks on the stream that the client opens beside its calls, and asks nobody if there is none yet.
                await listening.wait()
                await use_tools(client)
            case "http-custom-headers":
                for call in json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])["toolCalls"]:
                    await client.call_tool(call["name"], call["arguments"])
            case "json-schema-2020-12-preservation":
                schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
                await client.call_tool("json_schema_echo", {"schema": schemas["json_schema_2020_12_tool"]})
            case "json-schema-ref-no-deref":
                if not (await client.list_tools()).tools:
                    raise RuntimeError("the server has no tools")
            case _:
                await use_tools(client)
                await use_resources(client)
                await use_prompts(client)


def era() -> str:
    """The era of the version that the scenario is run with. The client finds it out by itself."""
    return "modern" if os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "") >= "2026" else "legacy"


async def use_tools(client: oncewire.Client) -> None:
    """Calls every tool, with arguments that its schema takes."""
    for tool in (await client.list_tools()).tools:
        result = await client.call_tool(tool.name, arguments(tool.input_schema or {}))
        print(tool.name, result.content, sep=": ")


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """Something of the right type for each argument that a tool cannot do without."""
    values: dict[str, Any] = {"number": 2, "integer": 2, "boolean": True}
    return {name: values.get(schema["properties"][name].get("type"), "text") for name in schema.get("required", [])}


async def use_resources(client: oncewire.Client) -> None:
    """Reads every resource, if there are any."""
    if "resources" in (client.capabilities or {}):
        for resource in (await client.list_resources()).resources:
            await client.read_resource(resource.uri)


async def use_prompts(client: oncewire.Client) -> None:
    """Gets every prompt, if there are any."""
    if "prompts" in (client.capabilities or {}):
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name)


asyncio.run(asyncio.wait_for(run(sys.argv[-1]), LIMIT))
