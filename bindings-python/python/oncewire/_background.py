"""A loop of our own, in a daemon thread: where the callbacks of a blocking client run, and those of a client whose loop is closed."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_lock = threading.Lock()
_running: tuple[int, asyncio.AbstractEventLoop, threading.Thread] | None = None


def loop() -> asyncio.AbstractEventLoop:
    """The loop of this process; started the first time."""
    import asyncio

    global _running
    with _lock:
        # A forked child has the object and not the thread.
        if _running is None or _running[0] != os.getpid():
            made = asyncio.new_event_loop()
            thread = threading.Thread(target=made.run_forever, name="oncewire-callbacks", daemon=True)
            thread.start()
            _running = (os.getpid(), made, thread)
        return _running[1]


def stop() -> None:
    """Ends the loop, if it was started in this process."""
    global _running
    with _lock:
        running, _running = _running, None
    if running is None or running[0] != os.getpid():
        return
    _, made, thread = running
    made.call_soon_threadsafe(made.stop)
    thread.join(1)
    if not thread.is_alive():
        made.close()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
