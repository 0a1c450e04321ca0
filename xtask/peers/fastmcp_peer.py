"""A small server on the PyPI package `fastmcp` 4.x: a quick tool, a slow tool, one of each other thing, and a ledger of what ran."""

import argparse

import anyio
from asks import name_in, who
from common import NAMES, Ledger, end_with_parent
from fastmcp import Context, FastMCP
from mcp.types import InputRequiredResult, ToolListChangedNotification

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--stdio", action="store_true", help="speak over the pipes, in the place of the port")
parser.add_argument("--ledger", required=True)
options = parser.parse_args()
server = FastMCP("small-peer")
ledger = Ledger(options.ledger)


@server.tool
async def quick() -> str:
    """Runs at once. Says nothing of itself, so it may change something."""
    ledger.both("quick")
    return "quick ran"


@server.tool
async def slow(seconds: float) -> str:
    """Runs for a while. Says nothing of itself, so it may change something."""
    ledger.write("slow", "start")
    await anyio.sleep(seconds)
    ledger.write("slow", "end")
    return f"slow ran for {seconds} s"


@server.tool
async def report(ctx: Context) -> str:
    """Tells how far it is."""
    for progress in (1, 2, 3):
        await ctx.report_progress(progress, 3)
    ledger.both("report")
    return "reported"


@server.tool
async def grow(ctx: Context) -> str:
    """Adds a tool."""
    number = len(await server.list_tools())

    @server.tool(name=f"grown_{number}")
    def grown() -> str:
        return "grown"

    await ctx.send_notification(ToolListChangedNotification())
    ledger.both("grow")
    return "grew"


@server.tool
async def ask(ctx: Context) -> str | InputRequiredResult:
    """Needs to know something of its caller."""
    name = name_in(ctx.input_responses)
    if name is None:
        return who()
    ledger.both("ask")
    return f"hello {name}, {ctx.request_state}"


@server.resource("peer://note")
def note() -> str:
    return "a note"


@server.resource("peer://notes/{name}")
def notes(name: str) -> str:
    return f"a note on {name}"


@server.prompt
def greet(name: str) -> str:
    return f"Greet {name}."


@server.completion
async def complete(ref, argument, context):
    return [name for name in NAMES if name.startswith(argument.value)]


if options.stdio:
    server.run(transport="stdio", show_banner=False)
else:
    end_with_parent()
    server.run(transport="http", host="127.0.0.1", port=options.port, show_banner=False)
