"""PyPI litellm's proxy as a gateway, which is found below /mcp, before a small server on PyPI mcp in the same process."""

import asyncio
import json
import os
import socket
import tempfile

from common import end_with_parent
from tools import HINTS, options, prefix

with socket.socket() as any_port:
    any_port.bind(("127.0.0.1", 0))
    behind = any_port.getsockname()[1]
config = {
    "mcp_servers": {
        "peer": {"url": f"http://127.0.0.1:{behind}/mcp", "transport": "http", "allow_all_keys": True},
    },
    "litellm_settings": {"telemetry": False},
}
with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    # JSON is YAML, too.
    json.dump(config, file)
    file.flush()
    os.environ |= {"CONFIG_FILE_PATH": file.name, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}
    os.environ["LITELLM_MASTER_KEY"] = "sk-0123456789abcdef0123456789abcdef"

    import uvicorn
    from litellm.proxy.proxy_server import app
    from mcp.server.mcpserver import MCPServer
    from mcp.types import ToolAnnotations

    # The gateway puts the name of the server before that of the tool.
    prefix["before"] = "peer-"
    server = MCPServer("peer")
    for tool, hints in HINTS.items():
        server.add_tool(tool, annotations=ToolAnnotations(**hints) if hints else None)

    async def moved(scope, receive, send):
        """It sends a redirect for the path without a slash."""
        if scope["type"] == "http" and scope["path"] == "/mcp":
            scope = {**scope, "path": "/mcp/", "raw_path": b"/mcp/"}
        await app(scope, receive, send)

    def serving(application, port):
        return uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=port, log_level="warning"))

    async def both():
        first = asyncio.create_task(serving(server.streamable_http_app(), behind).serve())
        await serving(moved, options.port).serve()
        first.cancel()

    end_with_parent()
    asyncio.run(both())
