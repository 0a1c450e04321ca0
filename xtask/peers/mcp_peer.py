"""A small server on the PyPI package `mcp` 1.x: a quick tool, a slow tool and a ledger of what ran.

The ledger is a file of JSON lines, one when a tool begins and one when it has ended, written by the tool itself.
"""

import argparse
import json
import os
import sys
import threading

import anyio
from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--ledger", required=True)
options = parser.parse_args()

server = FastMCP("peer", host="127.0.0.1", port=options.port)


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


def end_with_parent() -> None:
    """Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we."""
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
server.run(transport="streamable-http")
