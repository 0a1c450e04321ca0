"""A host on PyPI `mcp` 2.x, over the standard input and output of the command that it is given: one order a line, one line of what came of it.
It finds the era out."""

import asyncio
import json
import sys

from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client


def say(line):
    print(json.dumps(line), flush=True)


async def main():
    async with Client(StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])) as client:
        say({"ok": "connected"})
        while True:
            order = json.loads(await asyncio.to_thread(sys.stdin.readline))
            if order["do"] == "close":
                break
            try:
                if order["do"] == "list":
                    say({"ok": len((await client.list_tools(cache_mode="refresh")).tools)})
                elif order["do"] == "server":
                    say({"ok": client.server_info.name})
                else:
                    say({"ok": len((await client.call_tool(order["tool"], order["arguments"])).content)})
            except MCPError as error:
                say({"code": error.error.code, "message": error.error.message, "data": error.error.data})
    say({"ok": "closed"})


asyncio.run(main())
