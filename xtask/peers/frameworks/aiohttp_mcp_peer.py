"""PyPI aiohttp-mcp: sessions, and answers as plain JSON."""

from aiohttp import web
from aiohttp_mcp import AiohttpMCP, TransportMode, build_mcp_app
from common import end_with_parent
from mcp.types import ToolAnnotations
from tools import HINTS, options

server = AiohttpMCP(name="peer")
for tool, hints in HINTS.items():
    server.add_tool(tool, annotations=ToolAnnotations(**hints) if hints else None)

end_with_parent()
app = build_mcp_app(server, path="/mcp", transport_mode=TransportMode.STREAMABLE_HTTP, json_response=True)
web.run_app(app, host="127.0.0.1", port=options.port, print=None)
