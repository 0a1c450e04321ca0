"""A host on PyPI `mcp` 1.x, over the standard input and output of the command that it is given: one order a line, one line of what came of it."""

import asyncio
import json
import sys

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.stdio import stdio_client


def say(line):
    print(json.dumps(line), flush=True)


async def main():
    parameters = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as client:
        introduced = await client.initialize()
        say({"ok": "connected"})
        while True:
            order = json.loads(await asyncio.to_thread(sys.stdin.readline))
            if order["do"] == "close":
                break
            try:
                if order["do"] == "list":
                    say({"ok": len((await client.list_tools()).tools)})
                elif order["do"] == "server":
                    say({"ok": introduced.serverInfo.name})
                else:
                    say({"ok": len((await client.call_tool(order["tool"], order["arguments"])).content)})
            except McpError as error:
                say({"code": error.error.code, "message": error.error.message, "data": error.error.data})
    say({"ok": "closed"})


asyncio.run(main())
