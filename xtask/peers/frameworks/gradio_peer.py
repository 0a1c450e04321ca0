"""PyPI gradio with its MCP server, which is found below /mcp here."""

import os

os.environ |= {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"}

import gradio  # noqa: E402
import uvicorn  # noqa: E402
from common import end_with_parent  # noqa: E402
from fastapi import FastAPI  # noqa: E402
from tools import nudge, options, peek, poke, slow  # noqa: E402

with gradio.Blocks() as blocks:
    said = gradio.Textbox()
    for tool in (poke, peek, nudge):
        gradio.Button(tool.__name__).click(tool, [], said, api_name=tool.__name__)
    seconds = gradio.Number()
    gradio.Button("slow").click(slow, seconds, said, api_name="slow")

app = gradio.mount_gradio_app(FastAPI(), blocks, path="/", mcp_server=True)


async def moved(scope, receive, send):
    """Under the path that every server here has."""
    if scope["type"] == "http" and scope["path"] == "/mcp":
        scope = {**scope, "path": "/gradio_api/mcp/", "raw_path": b"/gradio_api/mcp/"}
    await app(scope, receive, send)


end_with_parent()
uvicorn.run(moved, host="127.0.0.1", port=options.port, log_level="warning")
