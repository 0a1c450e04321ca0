"""Fixtures: the fault server, one for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import support


@pytest.fixture(scope="session")
def server() -> Iterator[support.FaultServer]:
    """The process that hosts all servers."""
    started = support.FaultServer()
    yield started
    started.stop()


class Scenarios:
    """Makes scenarios, and ends them with the test."""

    def __init__(self, server: support.FaultServer) -> None:
        self.server = server
        self.made: list[support.Scenario] = []

    def __call__(self, *rules: dict[str, Any], **options: Any) -> support.Scenario:
        self.made.append(self.server.scenario(*rules, **options))
        return self.made[-1]


@pytest.fixture
def scenario(server: support.FaultServer) -> Iterator[Scenarios]:
    """Starts one server with the given rules and options."""
    scenarios = Scenarios(server)
    yield scenarios
    for made in scenarios.made:
        made.end()
