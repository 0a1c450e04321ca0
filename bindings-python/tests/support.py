"""The fault server, as the tests drive it, and programs that run in an interpreter of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def executable() -> str:
    """The fault server: the one that is named, or the one that cargo builds."""
    named = os.environ.get("ONCEWIRE_FAULT_SERVER")
    if named:
        return named
    command = ["cargo", "build", "-q", "-p", "oncewire-tests", "--bin", "fault-server", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    messages = [json.loads(line) for line in built.splitlines() if line.startswith("{")]
    return next(str(message["executable"]) for message in messages if message.get("executable"))


class FaultServer:
    """One process that hosts the servers of all scenarios. It ends with its standard input."""

    def __init__(self) -> None:
        self.executable = executable()
        self._process = subprocess.Popen([self.executable], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._control: str = json.loads(self._process.stdout.readline())["control"]

    def stop(self) -> None:
        """Ends it."""
        self._process.communicate()

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request of the control API."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._control + path, data=data, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=60) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()) from None

    def scenario(self, *rules: dict[str, Any], **options: Any) -> Scenario:
        """One server with these rules and options."""
        return self.start({"servers": {"main": {"rules": list(rules), "options": options}}})

    def start(self, new: dict[str, Any]) -> Scenario:
        """The servers of a scenario."""
        made = self.ask("POST", "/scenarios", new)
        return Scenario(self, made["id"], made["servers"]["main"]["url"], made["servers"]["main"]["port"])


@dataclass(frozen=True)
class Scenario:
    """The servers of one test."""

    server: FaultServer
    id: str
    url: str
    port: int

    def control(self, do: Any, on: str = "main") -> None:
        """Do something to a server."""
        self.pass_on({"on": on, "do": do})

    def pass_on(self, step: dict[str, Any]) -> None:
        """A control step, unread."""
        self.server.ask("POST", f"/scenarios/{self.id}/control", step)

    def ledger(self, on: str = "main") -> dict[str, Any]:
        """What the server saw."""
        ledger: dict[str, Any] = self.server.ask("GET", f"/scenarios/{self.id}/ledger/{on}")
        return ledger

    def arrivals(self, **members: Any) -> int:
        """How many requests were like this."""
        return _count(self.ledger()["arrivals"], members)

    def executions(self, **members: Any) -> int:
        """How many runs were like this."""
        return _count(self.ledger()["executions"], members)

    def judge(self, report: dict[str, Any]) -> list[str]:
        """What is wrong."""
        failures: list[str] = self.server.ask("POST", f"/scenarios/{self.id}/judge", report)["failures"]
        return failures

    def end(self) -> None:
        """Ends the servers."""
        self.server.ask("DELETE", f"/scenarios/{self.id}")


def _count(entries: list[dict[str, Any]], members: dict[str, Any]) -> int:
    return sum(all(entry.get(name) == value for name, value in members.items()) for entry in entries)


def until(holds: Callable[[], bool], seconds: float = 5) -> None:
    """Waits for something that nothing announces."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.01)


def program(code: str, *arguments: str, seconds: float = 180, options: Sequence[str] = ()) -> str:
    """Runs a program in an interpreter of its own; it must end well. What it printed, errors too."""
    command = [sys.executable, *options, "-c", code, *arguments]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds)
    assert ran.returncode == 0, f"it ended with {ran.returncode}: {ran.stdout}"
    return ran.stdout
