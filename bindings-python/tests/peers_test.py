"""Real servers: the official Python SDK, 1.x and 2.x, with a ledger of what ran."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import oncewire
import pytest
import support

# The version, the era that is asked for, and the one that comes of it.
PEERS: list[tuple[str, oncewire.Era, str]] = [
    ("1.30.0", "auto", "legacy"),
    ("2.3.0", "auto", "modern"),
    ("2.3.0", "legacy", "legacy"),
]


def _interpreter(version: str) -> Path:
    """One that has this version; installed once, where `cargo xtask` installs its own."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", support.ROOT / "target"))
    folder = target / "peers" / f"pip-mcp--{version.replace('.', '-')}"
    interpreter = folder / "bin" / "python"
    if not (folder / ".installed").is_file():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip: list[str | Path] = [
            interpreter,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-input",
            "--disable-pip-version-check",
        ]
        subprocess.run([*pip, f"mcp=={version}"], check=True)
        (folder / ".installed").write_text(f"mcp=={version}")
    return interpreter


class Peer:
    """One server, which can be killed and started again on its port."""

    def __init__(self, version: str, asked_for: oncewire.Era, era: str, folder: Path) -> None:
        self.asked_for = asked_for
        self.era = era
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._ledger = folder / "ledger"
        self._ledger.touch()
        self._log = folder / "log"
        script = support.ROOT / "xtask" / "peers" / "mcp_peer.py"
        self._command: list[str | Path] = [
            _interpreter(version),
            script,
            "--port",
            str(self.port),
            "--ledger",
            self._ledger,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it, and waits until it listens."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        support.until(self._listens, 60)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """Ends it as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def count(self, tool: str, event: str) -> int:
        """How often the tool began, or ended."""
        lines = [json.loads(line) for line in self._ledger.read_text().splitlines()]
        return lines.count({"tool": tool, "event": event})


@pytest.fixture(params=PEERS, ids=["-".join(peer) for peer in PEERS])
def peer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Peer]:
    """A server of each version, in each era."""
    version, asked_for, era = request.param
    made = Peer(version, asked_for, era, tmp_path)
    made.start()
    yield made
    made.kill()


async def every_method_works_with_the_official_sdk(peer: Peer) -> None:
    async with oncewire.connect(peer.url, era=peer.asked_for) as client:
        assert client.era == peer.era
        assert {tool.name for tool in (await client.list_tools()).tools} >= {"quick", "slow", "look"}
        assert (await client.call_tool("quick")).text == "quick ran"
        assert (await client.read_resource("peer://note")).contents[0]["text"] == "a note"
        assert [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
        assert (await client.get_prompt("greet", {"name": "Ada"})).messages
        completed = await client.complete({"type": "ref/prompt", "name": "greet"}, "name", "A")
        assert completed.values == ["Ada", "Alan"]
        await client.ping()
        wrong = await client.call_tool("slow", {"seconds": "a while"})
        assert wrong.is_error
    assert peer.count("quick", "end") == 1


async def a_crash_in_mid_call_is_told_and_the_next_call_recovers(peer: Peer) -> None:
    events: list[str] = []

    def heard(event: oncewire.Event) -> None:
        events.append(event.event)

    async with oncewire.connect(peer.url, era=peer.asked_for, on_event=heard) as client:
        call = asyncio.ensure_future(client.call_tool("slow", {"seconds": 30}))
        await asyncio.to_thread(support.until, lambda: peer.count("slow", "start") == 1)
        peer.kill()
        with pytest.raises(oncewire.MayHaveExecutedError):
            await call
        await asyncio.to_thread(peer.start)
        assert (await client.call_tool("look")).text == "looked"
        assert (await client.call_tool("quick")).text == "quick ran"
        # In the modern era there is no session that a crash could lose.
        assert client.generation == (2 if peer.era == "legacy" else 1)
    assert peer.count("slow", "start") == 1
    assert peer.count("quick", "end") == 1
    assert ("session_replaced" in events) == (peer.era == "legacy")


def the_blocking_client_works_with_the_official_sdk(peer: Peer) -> None:
    with oncewire.connect_sync(peer.url, era=peer.asked_for) as client:
        assert client.call_tool("quick").text == "quick ran"
        with pytest.raises(TimeoutError):
            client.call_tool("slow", {"seconds": 30}, timeout=0.3)
        assert client.call_tool("look").text == "looked"
