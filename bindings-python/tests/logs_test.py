"""The core's log lines, in `logging`: one field tells the losses apart, and no secret is in any of them."""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import oncewire
import pytest
import support
from conftest import Scenarios


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def of(self, event: str) -> list[Any]:
        return [record for record in self.records if vars(record).get("event") == event]


@pytest.fixture
def records() -> Iterator[_Records]:
    """What is logged under `oncewire` during the test, from DEBUG on."""
    handler, logger = _Records(), logging.getLogger("oncewire")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def one_field_tells_the_losses_apart(scenario: Scenarios, records: _Records) -> None:
    there = scenario({"when": {"name": "poke"}, "do": ["execute", "close"]})
    with oncewire.connect_sync(there.url) as client:
        there.control("forget_sessions")
        client.call_tool("nudge")
        with pytest.raises(oncewire.MayHaveExecutedError):
            client.call_tool("poke")
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        port = dead.getsockname()[1]
    with oncewire.connect_sync(f"http://127.0.0.1:{port}/mcp", lazy=True, connect_patience=0.05) as client:
        with pytest.raises(oncewire.NotExecutedError):
            client.call_tool("poke")
    support.until(lambda: len(records.of("closed")) == 2)
    failed = records.of("attempt_failed")
    assert [record.proof for record in failed if record.name_ == "nudge"] == ["session_rejected"]
    assert [record.kind for record in failed if record.name_ == "poke" and record.kind == "connection_closed"]
    finished = records.of("call_finished")[-1]
    assert (finished.kind, finished.proof, finished.execution) == ("connect", "never_sent", "not_executed")
    assert "proof=never_sent" in finished.getMessage()
    assert {record.levelname for record in failed} == {"WARNING"}


def a_log_line_can_be_written_as_json(scenario: Scenarios, records: _Records) -> None:
    with oncewire.connect_sync(scenario().url) as client:
        client.call_tool("poke")
    support.until(lambda: len(records.of("closed")) == 1)
    finished = records.of("call_finished")[0]
    ours = {"event", "method", "name_", "execution", "attempt", "idempotency_key"}
    written = json.loads(json.dumps({name: value for name, value in vars(finished).items() if name in ours}))
    assert written["event"] == "call_finished"
    assert (written["method"], written["name_"], written["attempt"]) == ("tools/call", "poke", 1)


def no_secret_is_logged(scenario: Scenarios, records: _Records) -> None:
    secrets = ["first-s3cret", "second-s3cret", "header-s3cret"]
    there = scenario(tokens=secrets[:1])
    asked: list[Any] = []

    def token(refused: Any) -> str:
        asked.append(refused)
        return secrets[min(len(asked) - 1, 1)]

    client = oncewire.connect_sync(there.url, token=token, headers={"X-Key": secrets[2]})
    there.control({"accept_tokens": ["another"]})
    with pytest.raises(oncewire.NotExecutedError) as raised:
        client.call_tool("poke")
    client.close()
    support.until(lambda: len(records.of("closed")) == 1)
    texts = [str(vars(record)) for record in records.records]
    texts += [str(raised.value), repr(raised.value), repr(vars(raised.value)), repr(client)]
    assert [text for text in texts if any(secret in text for secret in secrets)] == []
    assert len(texts) > 5


def nothing_is_printed_where_nobody_listens(scenario: Scenarios) -> None:
    code = """
import sys, oncewire
client = oncewire.connect_sync(sys.argv[1])
try:
    client.call_tool("poke")
except oncewire.MayHaveExecutedError:
    pass
client.close()
"""
    assert support.program(code, scenario({"when": {"name": "poke"}, "do": ["execute", "close"]}).url) == ""


def a_handler_that_raises_harms_nobody(scenario: Scenarios) -> None:
    code = """
import logging, sys, time, oncewire
class Broken(logging.Handler):
    def emit(self, record):
        raise LookupError("no disk")
logging.getLogger("oncewire").addHandler(Broken())
logging.getLogger("oncewire").setLevel(logging.DEBUG)
sys.unraisablehook = lambda unraisable: None
with oncewire.connect_sync(sys.argv[1]) as client:
    for _ in range(3):
        assert client.call_tool("peek").text
        time.sleep(0.03)
"""
    assert support.program(code, scenario().url) == ""
