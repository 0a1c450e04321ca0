"""PyPI django-mcp-server under uvicorn. The mode says where Django keeps its sessions, and so those of MCP: `files` live through a restart,
`memory` does not."""

import asyncio
import os

import django
from common import end_with_parent
from django.conf import settings
from tools import options

kept = f"{options.ledger}.sessions"
os.makedirs(kept, exist_ok=True)
engines = {"files": "django.contrib.sessions.backends.file", "memory": "django.contrib.sessions.backends.cache"}
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions", "mcp_server"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
    REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, "DEFAULT_AUTHENTICATION_CLASSES": []},
    ROOT_URLCONF="mcp_server.urls",
    SECRET_KEY="for this machine alone",
    SESSION_ENGINE=engines[options.mode],
    SESSION_FILE_PATH=kept,
)
django.setup()

import uvicorn  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from mcp.types import ToolAnnotations  # noqa: E402
from mcp_server.djangomcp import global_mcp_server  # noqa: E402
from tools import HINTS  # noqa: E402

for tool, hints in HINTS.items():
    global_mcp_server.add_tool(tool, annotations=ToolAnnotations(**hints) if hints else None)

end_with_parent()
asyncio.run(
    uvicorn.Server(
        uvicorn.Config(get_asgi_application(), host="127.0.0.1", port=options.port, log_level="warning")
    ).serve()
)
