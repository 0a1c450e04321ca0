"""The client that the official conformance suite drives, in Python: `client.py URL`, with the scenario in the environment.

It behaves alike in every scenario: it lists what the server offers and calls each of it once. The few that ask for more are named in `run`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import urllib.parse
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

    oauth = login(scenario.removeprefix("auth/")) if scenario.startswith("auth/") else None
    async with oncewire.connect(
        url, oauth=oauth, on_elicitation=on_elicitation, on_sampling=on_sampling, on_roots=on_roots, on_event=on_event
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


def login(scenario: str) -> oncewire.OAuth:
    """How the client logs in: as a person's in a browser, unless the scenario gives it something else to log in with."""
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    given: dict[str, Any] = {"store": "memory", "receive": redirect}
    match scenario:
        case "basic-cimd":
            given["client_metadata_url"] = "https://conformance-test.local/client-metadata.json"
        case "pre-registration":
            given |= {name: context[name] for name in ("client_id", "client_secret", "issuer")}
        case "client-credentials-basic":
            given |= {"client_id": context["client_id"], "client_secret": context["client_secret"]}
            given["client_credentials"] = True
        case "client-credentials-jwt":
            given |= {"client_id": context["client_id"], "client_credentials": True}
            given["private_key"] = (context["private_key_pem"], context["signing_algorithm"])
        case "enterprise-managed-authorization":
            given |= {"client_id": context["client_id"], "client_secret": context["client_secret"]}
            given["enterprise"] = oncewire.Enterprise(
                context["idp_token_endpoint"], context["idp_client_id"], lambda: context["idp_id_token"]
            )
        case "wif-jwt-bearer":
            given |= {"client_id": context["client_id"], "workload_identity": lambda: context["valid_jwt"]}
        case "dpop" | "dpop-nonce":
            given["dpop"] = True
    return oncewire.OAuth(**given)


async def redirect(url: str) -> str:
    """What the browser of a person would do: the suite's authorization servers grant everything, and send it back at once."""
    parts = urllib.parse.urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    for line in answer.splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "location":
            return value.strip()
    raise RuntimeError("what came is no redirect")


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
