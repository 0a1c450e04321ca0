"""What the small Python servers here have in common: the ledger, and when they end.

The ledger is a file of JSON lines, one when a tool begins and one when it has ended, written by the tool itself. A tool that its server
stops writes no second line.
"""

import json
import os
import sys
import threading

NAMES = ("Ada", "Alan", "Grace")


class Ledger:
    """The file."""

    def __init__(self, file: str):
        self.file = file

    def write(self, tool: str, event: str) -> None:
        """Adds one line; opened anew each time, so that a killed process loses none."""
        with open(self.file, "a", encoding="utf-8") as ledger:
            ledger.write(json.dumps({"tool": tool, "event": event}) + "\n")

    def both(self, tool: str) -> None:
        """For a tool that takes no time."""
        self.write(tool, "start")
        self.write(tool, "end")


def end_with_parent() -> None:
    """Whoever started us holds the other end of our standard input. When it is gone, however it went, so are we."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()
