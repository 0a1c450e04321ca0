"""A small server on the PyPI package `mcp`, 1.x or 2.x: a quick tool, a slow tool, one of each other thing, and a ledger of what ran.

The ledger is a file of JSON lines, one when a tool begins and one when it has ended, written by the tool itself.
"""

import argparse
import json
import os
import sys
import threading

import anyio
from mcp.server.streamable_http import EventStore
from mcp.types import Completion, ToolAnnotations

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
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


def write(tool: str, event: str) -> None:
    """Adds one line; opened anew each time, so that a killed process loses none."""
    with open(options.ledger, "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"tool": tool, "event": event}) + "\n")


@server.tool()
async def quick() -> str:
    """Runs at once. Says nothing of itself, so it may change something."""
    write("quick", "start")
    write("quick", "end")
    return "quick ran"


@server.tool()
async def slow(seconds: float) -> str:
    """Runs for a while. Says nothing of itself, so it may change something."""
    write("slow", "start")
    await anyio.sleep(seconds)
    write("slow", "end")
    return f"slow ran for {seconds} s"


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def look() -> str:
    """Only reads, and says so."""
    write("look", "start")
    write("look", "end")
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
    return Completion(values=[name for name in ("Ada", "Alan", "Grace") if name.startswith(argument.value)])


def end_with_parent() -> None:
    """Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we."""
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
server.run(transport="streamable-http", **({} if early else how))
