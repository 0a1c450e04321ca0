"""What a call costs: oncewire, the official SDK and fastmcp, in one run against one server.

    pip install mcp==2.3.0 fastmcp==4.1.6 ./bindings-python
    cargo build --release -p oncewire-tests --bin fault-server
    ONCEWIRE_FAULT_SERVER=target/release/fault-server python benches/compare.py

Each client runs in a process of its own, so that its memory is its own. It measures and claims nothing: a figure holds for the machine and the
moment, a ratio of one run says a little more.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import resource
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

Call = Callable[[], Awaitable[Any]]


@contextlib.asynccontextmanager
async def oncewire_client(url: str) -> AsyncIterator[Call]:
    import oncewire

    async with oncewire.connect(url) as client:
        yield lambda: client.call_tool("peek")


@contextlib.asynccontextmanager
async def mcp_client(url: str) -> AsyncIterator[Call]:
    import mcp

    async with mcp.Client(url) as client:
        yield lambda: client.call_tool("peek", {})


@contextlib.asynccontextmanager
async def fastmcp_client(url: str) -> AsyncIterator[Call]:
    import fastmcp

    async with fastmcp.Client(url) as client:
        yield lambda: client.call_tool("peek", {})


CLIENTS = {"oncewire": oncewire_client, "mcp": mcp_client, "fastmcp": fastmcp_client}


async def measure(name: str, url: str, callers: int, seconds: float) -> dict[str, Any]:
    """Calls for so long, with so many callers at once."""
    took: list[float] = []
    async with CLIENTS[name](url) as call:

        async def caller(until: float) -> None:
            while (began := time.perf_counter()) < until:
                await call()
                took.append(time.perf_counter() - began)

        # Warm up.
        await asyncio.gather(*(caller(time.perf_counter() + 0.5) for _ in range(callers)))
        took.clear()
        began = time.perf_counter()
        await asyncio.gather(*(caller(began + seconds) for _ in range(callers)))
        elapsed = time.perf_counter() - began
    return _figures(took, elapsed)


def measure_blocking(url: str, callers: int, seconds: float) -> dict[str, Any]:
    """The same for the blocking client, with threads."""
    import oncewire

    took: list[float] = []
    with oncewire.connect_sync(url) as client:

        def caller(until: float) -> None:
            while (began := time.perf_counter()) < until:
                client.call_tool("peek")
                took.append(time.perf_counter() - began)

        caller(time.perf_counter() + 0.5)
        took.clear()
        began = time.perf_counter()
        threads = [threading.Thread(target=caller, args=(began + seconds,)) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        elapsed = time.perf_counter() - began
    return _figures(took, elapsed)


def _figures(took: list[float], elapsed: float) -> dict[str, Any]:
    took.sort()
    return {
        "calls_per_second": round(len(took) / elapsed),
        "p50_ms": round(took[len(took) // 2] * 1000, 2),
        "p99_ms": round(took[len(took) * 99 // 100] * 1000, 2),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main() -> None:
    """Runs all, or, as a child, one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--one", nargs=3, metavar=("CLIENT", "URL", "CALLERS"))
    given = parser.parse_args()
    if given.one:
        name, url, callers = given.one[0], given.one[1], int(given.one[2])
        if name == "oncewire (blocking)":
            print(json.dumps(measure_blocking(url, callers, given.seconds)))
        else:
            print(json.dumps(asyncio.run(measure(name, url, callers, given.seconds))))
        return

    import support

    server = support.FaultServer()
    for callers in (1, 16):
        rounds: dict[str, list[dict[str, Any]]] = {}
        # Turn by turn, so that a busy moment of the machine hits all alike.
        for _ in range(given.rounds):
            for name in [*CLIENTS, "oncewire (blocking)"]:
                there = server.scenario()
                command = [
                    sys.executable,
                    __file__,
                    "--seconds",
                    str(given.seconds),
                    "--one",
                    name,
                    there.url,
                    str(callers),
                ]
                ran = subprocess.run(command, stdout=subprocess.PIPE, check=True)
                rounds.setdefault(name, []).append(json.loads(ran.stdout))
                there.end()
        print(
            f"{callers} callers: calls per second, p50 and p99 in ms, peak memory in MiB (the middle of {given.rounds} rounds)"
        )
        for name, figures in rounds.items():
            middle = sorted(figures, key=lambda each: each["calls_per_second"])[len(figures) // 2]
            print("  {:20} {:7} {:8} {:8} {:6}".format(name, *middle.values()))
    server.stop()


if __name__ == "__main__":
    main()
