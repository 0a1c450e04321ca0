"""Servers on stdio: the scripted one, which notes what it did in a file that outlives it."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import oncewire
import pytest
import support


class Scripted:
    """A server that is not started yet, and what it noted."""

    def __init__(self, server: support.FaultServer, folder: Path, *lives: dict[str, Any], **options: Any) -> None:
        self.ledger = folder / "ledger"
        script = json.dumps({"lives": lives, "options": options})
        self.command = server.executable
        self.args = ["--stdio", str(self.ledger), "--script", script]

    def notes(self) -> list[Any]:
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def pids(self) -> list[int]:
        return [note["started"] for note in self.notes() if "started" in note]

    def runs(self) -> int:
        return sum("ran" in note for note in self.notes())


async def test_both_eras_over_pipes(server: support.FaultServer, tmp_path: Path) -> None:
    for number, (era, version) in enumerate([("legacy", "2025-11-25"), ("modern", "2026-07-28")]):
        folder = tmp_path / str(number)
        folder.mkdir()
        scripted = Scripted(server, folder, era=era)
        told: list[oncewire.Progress] = []
        async with oncewire.connect_stdio(scripted.command, scripted.args) as client:
            assert client.protocol_version == version
            assert len((await client.list_tools()).tools) == 5
            result = await client.call_tool("poke", {"progress": 3}, on_progress=told.append)
            assert result.text == "poke done"
            with pytest.raises(oncewire.AnsweredError) as answered:
                await client.call_tool("nothing")
            assert answered.value.http_status is None
        assert [progress.progress for progress in told] == [1, 2, 3]
        assert scripted.notes()[-1] == "eof"
        assert len(scripted.pids()) == 1


async def test_a_process_that_ends_is_judged_and_replaced(server: support.FaultServer, tmp_path: Path) -> None:
    scripted = Scripted(server, tmp_path, {"ends_after_running": True, "exit_code": 7, "stderr": ["the last words"]})
    async with oncewire.connect_stdio(scripted.command, scripted.args) as client:
        with pytest.raises(oncewire.MayHaveExecutedError) as lost:
            await client.call_tool("poke")
        assert lost.value.kind == "connection_closed"
        assert "exit code 7" in str(lost.value) and "the last words" in str(lost.value)
        assert (await client.call_tool("poke")).text == "poke done"
        assert client.generation == 2
    assert (len(scripted.pids()), scripted.runs()) == (2, 2)


def test_the_blocking_twin(server: support.FaultServer, tmp_path: Path) -> None:
    scripted = Scripted(server, tmp_path)
    with oncewire.connect_stdio_sync(scripted.command, scripted.args, recovery="off") as client:
        os.kill(scripted.pids()[0], signal.SIGKILL)
        # It is gone before the next request is written, or takes it with it unread.
        with pytest.raises(oncewire.OncewireError) as lost:
            client.call_tool("poke")
        assert lost.value.kind == "connection_closed"
    assert scripted.runs() == 0


async def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    with pytest.raises(oncewire.NotExecutedError, match="could not be started"):
        await oncewire.connect_stdio("/no/such/program")
    with pytest.raises(oncewire.NotExecutedError, match="token"):
        await oncewire.connect_stdio("cat", token="secret")
    with pytest.raises(oncewire.NotExecutedError, match="folder"):
        await oncewire.connect_stdio("cat", folder=tmp_path / "none")
    with pytest.raises(TypeError, match="args"):
        oncewire.connect_stdio("cat", "-u")
    with pytest.raises(ValueError, match="inherit"):
        await oncewire.connect_stdio("cat", inherit="some")


async def test_the_environment_is_what_is_given(server: support.FaultServer, tmp_path: Path) -> None:
    scripted = Scripted(server, tmp_path)
    out = tmp_path / "environment"
    args = ["-c", 'env > "$OUT"; exec "$@"', "sh", scripted.command, *scripted.args]
    env = {"OUT": str(out), "API_KEY": "hunter2hunter2"}
    async with oncewire.connect_stdio("/bin/sh", args, env=env, folder=tmp_path, inherit=["PATH"]) as client:
        await client.ping()
    names = {line.partition("=")[0] for line in out.read_text().splitlines()}
    assert {"OUT", "API_KEY", "PATH"} <= names and "HOME" not in names
