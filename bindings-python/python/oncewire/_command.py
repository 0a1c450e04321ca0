"""The script `oncewire`, and `python -m oncewire`: the command of the workspace, in this process."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> None:
    """Runs the command with the arguments of this process, and ends it with the command's exit code."""
    # The command listens for Ctrl+C itself. Python's own handler would be called too, and raise KeyboardInterrupt once the command is over.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.run_command(["oncewire", *sys.argv[1:]]))
