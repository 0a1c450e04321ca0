"""The command in the package: the script and `python -m oncewire`. What it does is tested in Rust."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from conftest import Scenarios

SCRIPT = Path(sysconfig.get_path("scripts")) / "oncewire"
WAYS = [[str(SCRIPT)], [sys.executable, "-m", "oncewire"]]
PATIENCE = 60
# Makes standard input the terminal that Ctrl+C comes from, and becomes the command.
ON_A_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


@pytest.mark.parametrize("way", WAYS, ids=["script", "module"])
def the_command_is_in_the_package(scenario: Scenarios, way: list[str]) -> None:
    there = scenario()
    ran = subprocess.run([*way, "call", there.url, "echo", "to=ada", "--json"], capture_output=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stderr) == (0, b""), ran
    assert json.loads(ran.stdout)["structuredContent"] == {"to": "ada"}
    ran = subprocess.run([*way, "call", there.url, "echo", "ada"], capture_output=True, timeout=PATIENCE)
    assert ran.returncode == 2 and b"nothing was sent" in ran.stderr, ran


@pytest.mark.skipif(sys.platform == "win32", reason="there is no pty on Windows")
def ctrl_c_on_a_terminal_ends_it_and_says_the_verdict(scenario: Scenarios) -> None:
    there = scenario(slow_ms=600_000, progress_every_ms=20)
    terminal, inner = pty.openpty()
    command = subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, sys.executable, "-m", "oncewire", "call", there.url, "slow"],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    seen = b""
    while b" %" not in seen:
        seen += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    while True:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # what Linux says at the end of a terminal
            break
        if not more:
            break
        seen += more
    assert command.wait(timeout=PATIENCE) == 130, seen
    assert b"the tool may have run" in seen and b"Traceback" not in seen and b"KeyboardInterrupt" not in seen, seen
    assert len(there.ledger()["cancelled"]) == 1
    os.close(terminal)


def importing_the_package_does_not_load_the_script() -> None:
    asks = "import sys, oncewire; sys.exit('oncewire._command' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", asks], timeout=PATIENCE).returncode == 0


def a_signal_that_python_would_raise_is_not_raised(scenario: Scenarios) -> None:
    there = scenario(slow_ms=600_000, progress_every_ms=20)
    command = subprocess.Popen(
        [sys.executable, "-m", "oncewire", "watch", there.url, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    while b'"ready"' not in command.stdout.readline():
        pass
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=PATIENCE)
    assert (command.returncode, err) == (0, b"")
