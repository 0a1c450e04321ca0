"""A small server on the PyPI package `mcp`, 1.x or 2.x: a quick tool, a slow tool, one of each other thing, and a ledger of what ran."""

import argparse

import anyio
from common import NAMES, Ledger, end_with_parent
from mcp.server.streamable_http import EventStore
from mcp.types import Completion, ToolAnnotations

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--stdio", action="store_true", help="speak over the pipes, in the place of the port")
parser.add_argument("--ledger", required=True)
parser.add_argument("--json", action="store_true", help="plain JSON answers instead of streams")
parser.add_argument("--events", action="store_true", help="an event store: a stream that was cut can be read on")
options = parser.parse_args()


class Events(EventStore):
    """Keeps every event in memory."""

    def __init__(self):
        self.events = []

    async def store_event(self, stream_id, message):
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id, send_callback):
        from mcp.server.streamable_http import EventMessage

        position = int(last_event_id)
        stream_id, _ = self.events[position - 1]
        for index, (stream, message) in enumerate(self.events[position:], position + 1):
            # An event without a message primes the client, and tells it nothing.
            if stream == stream_id and message is not None:
                await send_callback(EventMessage(message, str(index)))
        return stream_id


how = {"host": "127.0.0.1", "port": options.port, "json_response": options.json}
if options.events:
    how |= {"event_store": Events(), "retry_interval": 500}
# 1.x takes this when the server is made, 2.x when it is run.
early = Server.__name__ == "FastMCP"
server = Server("small-peer", **(how if early else {}))
ledger = Ledger(options.ledger)


@server.tool()
async def quick() -> str:
    """Runs at once. Says nothing of itself, so it may change something."""
    ledger.both("quick")
    return "quick ran"


@server.tool()
async def slow(seconds: float) -> str:
    """Runs for a while. Says nothing of itself, so it may change something."""
    ledger.write("slow", "start")
    await anyio.sleep(seconds)
    ledger.write("slow", "end")
    return f"slow ran for {seconds} s"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def look() -> str:
    """Only reads, and says so."""
    ledger.both("look")
    return "looked"


@server.resource("peer://note")
def note() -> str:
    return "a note"


@server.resource("peer://notes/{name}")
def notes(name: str) -> str:
    return f"a note on {name}"


@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}."


@server.completion()
async def complete(ref, argument, context):
    return Completion(values=[name for name in NAMES if name.startswith(argument.value)])


if not early:
    from asks import name_in, who
    from mcp.server.mcpserver import Context
    from mcp.types import InputRequiredResult

    @server.tool()
    async def report(ctx: Context) -> str:
        """Tells how far it is."""
        for progress in (1, 2, 3):
            await ctx.report_progress(progress, 3)
        ledger.both("report")
        return "reported"

    @server.tool()
    async def grow(ctx: Context) -> str:
        """Adds a tool."""
        server.add_tool(lambda: "grown", name=f"grown_{len(await server.list_tools())}")
        await ctx.notify_tools_changed()
        ledger.both("grow")
        return "grew"

    @server.tool()
    async def ask(ctx: Context) -> str | InputRequiredResult:
        """Needs to know something of its caller."""
        name = name_in(ctx.input_responses)
        if name is None:
            return who()
        ledger.both("ask")
        return f"hello {name}, {ctx.request_state}"


if options.stdio:
    server.run(transport="stdio")
else:
    end_with_parent()
    server.run(transport="streamable-http", **({} if early else how))
