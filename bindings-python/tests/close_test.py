"""S13: nothing is left behind."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from pathlib import Path
from typing import Any

import oncewire
import pytest
import support
from conftest import Scenarios


def _sockets() -> int:
    links = []
    for each in Path("/proc/self/fd").iterdir():
        try:
            links.append(os.readlink(each))
        except OSError:
            continue
    return sum(link.startswith("socket:") for link in links)


def _left() -> tuple[int, int]:
    return _sockets(), len(list(Path("/proc/self/task").iterdir()))


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("status", [200, 204, 404, 405])
async def a_hundred_clients_leave_nothing(scenario: Scenarios, status: int) -> None:
    there = scenario(delete_status=status)

    async def once() -> None:
        async with oncewire.connect(there.url) as client:
            assert (await client.call_tool("peek")).text

    for _ in range(10):
        await once()
    sockets, threads = _left()
    resident = _resident()
    for _ in range(100):
        await once()
    assert abs(_left()[0] - sockets) <= 2
    assert abs(_left()[1] - threads) <= 2
    assert _resident() - resident < 8 << 20
    deletes = [arrival["session"] for arrival in there.ledger()["arrivals"] if arrival["http"] == "DELETE"]
    assert len(deletes) == len(set(deletes)) == 110


def a_hundred_blocking_clients_leave_nothing(scenario: Scenarios) -> None:
    there = scenario()

    def once() -> None:
        with oncewire.connect_sync(there.url, on_event=lambda event: None) as client:
            assert client.call_tool("peek").text

    once()
    before = _left(), threading.active_count()
    for _ in range(100):
        once()
    after = _left(), threading.active_count()
    assert abs(after[0][0] - before[0][0]) <= 2 and abs(after[0][1] - before[0][1]) <= 2
    assert after[1] == before[1]
    assert there.arrivals(http="DELETE") == 101


async def closing_is_bounded_and_harmless_twice(scenario: Scenarios) -> None:
    there = scenario({"when": {"http": "DELETE"}, "early": True, "do": ["hold"]})
    client = await oncewire.connect(there.url, close_timeout=0.3)
    began = asyncio.get_running_loop().time()
    await asyncio.gather(client.close(), client.close())
    await client.close()
    assert asyncio.get_running_loop().time() - began < 2
    assert there.arrivals(http="DELETE") == 1


async def a_hundred_failed_connections_leave_nothing(scenario: Scenarios) -> None:
    there = scenario(start_down=True)
    before = _left()
    for _ in range(100):
        with pytest.raises(ConnectionError):
            await oncewire.connect(there.url, connect_patience=0)
    after = _left()
    assert abs(after[0] - before[0]) <= 2 and abs(after[1] - before[1]) <= 2


async def a_client_that_is_forgotten_says_goodbye(scenario: Scenarios) -> None:
    there = scenario()
    client: Any = await oncewire.connect(there.url)
    assert (await client.call_tool("peek")).text
    del client
    await asyncio.to_thread(support.until, lambda: there.arrivals(http="DELETE") == 1)


async def an_exception_in_the_body_closes_the_client_too(scenario: Scenarios) -> None:
    there = scenario()
    with pytest.raises(LookupError):
        async with oncewire.connect(there.url) as client:
            await client.ping()
            raise LookupError
    assert client.is_closed
    assert there.arrivals(http="DELETE") == 1


class _Agent:
    """Holds the client that holds its callbacks."""

    def __init__(self) -> None:
        self.client: Any = None

    def event(self, event: oncewire.Event) -> None:
        pass

    async def token(self, _: str | None) -> str:
        return "one"


async def closing_breaks_the_circle_of_a_client_and_its_callbacks(scenario: Scenarios) -> None:
    agent = _Agent()
    agent.client = await oncewire.connect(scenario(tokens=["one"]).url, on_event=agent.event, token=agent.token)
    assert (await agent.client.call_tool("peek")).text
    await agent.client.close()
    gone = weakref.ref(agent)
    del agent
    await asyncio.sleep(0.05)
    gc.collect()
    assert gone() is None
