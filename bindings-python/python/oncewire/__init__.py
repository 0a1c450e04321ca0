"""An MCP client that never runs your tool twice without proof, never hangs on a dead stream, and recovers a lost session exactly once.

```python
import oncewire

async with oncewire.connect("http://127.0.0.1:8000/mcp") as client:
    try:
        result = await client.call_tool("create_draft", {"to": "ada"}, timeout=30)
    except oncewire.MayHaveExecutedError:
        ...  # look first: the draft may be there
    except oncewire.NotExecutedError:
        ...  # proven: calling again is safe
    except oncewire.AnsweredError as error:
        ...  # the server answered with an error: error.code, error.message
```

`connect` is for asyncio, `connect_sync` its blocking twin. Every failed call says whether the server did not run it, may have run it,
or answered.
"""

from __future__ import annotations

import atexit as _atexit

from . import _background, _native
from ._client import Client, Connecting, connect, connect_stdio
from ._events import Event, Progress, ServerNotification
from ._oauth import Enterprise, LoginStore, OAuth, Seconds
from ._options import (
    CallOptions,
    ConnectOptions,
    HeaderProvider,
    ListOptions,
    RequestHandler,
    RequestOptions,
    RootsHandler,
    TokenProvider,
)
from ._results import (
    CallToolResult,
    CompleteResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
    ToolAnnotations,
)
from ._stdio import Inherit
from ._sync import SyncClient, connect_stdio_sync, connect_sync
from ._words import (
    Era,
    EventName,
    Execution,
    Kind,
    Phase,
    Proof,
    ProofBasis,
    Recovery,
    Resend,
    State,
    TrustAnnotations,
)
from .errors import AnsweredError, Attempt, MayHaveExecutedError, NotExecutedError, OncewireError

__all__ = [
    "AnsweredError",
    "Attempt",
    "CallOptions",
    "CallToolResult",
    "Client",
    "CompleteResult",
    "ConnectOptions",
    "Connecting",
    "Enterprise",
    "Era",
    "Event",
    "EventName",
    "Execution",
    "GetPromptResult",
    "HeaderProvider",
    "Inherit",
    "Kind",
    "ListOptions",
    "ListPromptsResult",
    "ListResourceTemplatesResult",
    "ListResourcesResult",
    "ListToolsResult",
    "LoginStore",
    "MayHaveExecutedError",
    "NotExecutedError",
    "OAuth",
    "OncewireError",
    "Phase",
    "Progress",
    "Prompt",
    "PromptArgument",
    "Proof",
    "ProofBasis",
    "ReadResourceResult",
    "Recovery",
    "RequestHandler",
    "RequestOptions",
    "Resend",
    "Resource",
    "ResourceTemplate",
    "RootsHandler",
    "Seconds",
    "ServerNotification",
    "State",
    "SyncClient",
    "TokenProvider",
    "Tool",
    "ToolAnnotations",
    "TrustAnnotations",
    "connect",
    "connect_stdio",
    "connect_stdio_sync",
    "connect_sync",
]


@_atexit.register
def _at_exit() -> None:
    # While the interpreter is whole: afterwards no thread of ours may come back to it.
    _native.shutdown()
    _background.stop()
