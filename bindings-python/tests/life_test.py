"""S25: the host process stays healthy. Exit, fork, threads, loops, signals.

A crash at exit comes once in many runs, so each way to end runs 200 times: a process that has the package imported and nothing started
forks a child for each run, and the child lives and ends as an interpreter does. A few runs in new interpreters go along.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

import oncewire
import pytest
import support
from conftest import Scenarios

# Each child leaves the loop and ends by itself, through the interpreter's whole end.
FORKS = """
import os, sys
import asyncio, threading
import oncewire
url, runs = sys.argv[1], int(sys.argv[2])

def main():
    {body}

child = False
for _ in range(runs // 4):
    pids = []
    for _ in range(4):
        pid = os.fork()
        if pid == 0:
            child = True
            break
        pids.append(pid)
    if child:
        break
    for pid in pids:
        _, status = os.waitpid(pid, 0)
        if status != 0:
            print("a run ended with", os.waitstatus_to_exitcode(status), flush=True)
if child:
    main()
"""

PENDING = {"when": {"name": "poke"}, "do": ["hold"]}

WAYS_TO_END = {
    "after_a_call": """
    async def work():
        client = await oncewire.connect(url)
        await client.call_tool("peek")
        await client.close()
    asyncio.run(work())""",
    "with_an_open_client": """
    global client
    async def work():
        global client
        client = await oncewire.connect(url, on_event=lambda event: None)
        await client.call_tool("peek")
    asyncio.run(work())""",
    "with_a_cancelled_call": """
    global client
    async def work():
        global client
        client = await oncewire.connect(url)
        call = asyncio.ensure_future(client.call_tool("poke"))
        await asyncio.sleep(0.005)
        call.cancel()
    asyncio.run(work())""",
    "with_a_call_pending": """
    global client
    async def work():
        global client
        client = await oncewire.connect(url)
        asyncio.ensure_future(client.call_tool("poke"))
        await asyncio.sleep(0.005)
    asyncio.run(work())""",
    "with_50_calls_pending": """
    global client, calls
    async def work():
        global client, calls
        client = await oncewire.connect(url)
        calls = [asyncio.ensure_future(client.call_tool("poke")) for _ in range(50)]
        await asyncio.sleep(0.01)
    loop = asyncio.new_event_loop()
    loop.run_until_complete(work())
    # Whatever asyncio says of tasks that nobody ended is the program's own affair.
    for call in calls:
        call._log_destroy_pending = False""",
    "with_8_threads_of_finished_loops": """
    def run():
        async def work():
            async with oncewire.connect(url) as client:
                await client.call_tool("peek")
        asyncio.run(work())
    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()""",
    "with_a_daemon_thread_that_waits": """
    global client
    client = oncewire.connect_sync(url, on_event=lambda event: None)
    threading.Thread(target=lambda: client.call_tool("poke"), daemon=True).start()
    threading.Event().wait(0.005)""",
    "with_a_daemon_thread_that_calls_on_and_on": """
    global client
    client = oncewire.connect_sync(url)
    def run():
        while True:
            client.call_tool("peek")
    threading.Thread(target=run, daemon=True).start()
    threading.Event().wait(0.005)""",
    "after_a_blocking_call": """
    with oncewire.connect_sync(url) as client:
        client.call_tool("peek")""",
    "by_an_exception": """
    global client
    client = oncewire.connect_sync(url)
    sys.exit(0)""",
}


@pytest.mark.parametrize("way", WAYS_TO_END)
def an_interpreter_ends_without_a_word_in_200_runs(scenario: Scenarios, way: str) -> None:
    there = scenario(PENDING)
    code = FORKS.format(body=WAYS_TO_END[way].strip().replace("\n    ", "\n    "))
    assert support.program(code, there.url, "200", seconds=600) == ""


@pytest.mark.parametrize("way", WAYS_TO_END)
def a_new_interpreter_ends_without_a_word(scenario: Scenarios, way: str) -> None:
    there = scenario(PENDING)
    code = FORKS.format(body=WAYS_TO_END[way].strip()) + "\nif runs == 0:\n    main()\n"
    for _ in range(4):
        assert support.program(code, there.url, "0") == ""


def an_open_client_says_goodbye_at_exit(scenario: Scenarios) -> None:
    there = scenario(PENDING)
    code = FORKS.format(body=WAYS_TO_END["with_an_open_client"].strip()) + "\nif runs == 0:\n    main()\n"
    support.program(code, there.url, "0")
    support.until(lambda: there.arrivals(http="DELETE") == 1)


FORKED = """
import asyncio, os, sys, traceback
import oncewire
url = sys.argv[1]

def child(of_parent):
    try:
        if isinstance(of_parent, oncewire.SyncClient):
            of_parent.call_tool("peek")
        else:
            asyncio.run(of_parent.call_tool("peek"))
    except RuntimeError as error:
        assert "forked" in str(error) and "connect again" in str(error), error
    else:
        raise AssertionError("the parent's client worked")
    with oncewire.connect_sync(url, on_event=lambda event: None) as client:
        assert client.call_tool("peek").text
    async def work():
        async with oncewire.connect(url) as client:
            await client.call_tool("peek")
    asyncio.run(work())

def forked(client, leave=sys.exit):
    pid = os.fork()
    if pid == 0:
        try:
            child(client)
        except BaseException:
            traceback.print_exc()
            leave(1)
        leave(0)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status

for _ in range(10):
    client = oncewire.connect_sync(url, on_event=lambda event: None)
    client.call_tool("peek")
    forked(client)
    assert client.call_tool("peek").text
    client.close()

async def main():
    async with oncewire.connect(url, on_event=lambda event: None) as client:
        await client.call_tool("peek")
        # asyncio itself does not bear it that a child closes the loop of its parent: the child leaves at once.
        forked(client, os._exit)
        assert (await client.call_tool("peek")).text
asyncio.run(main())
"""


def after_a_fork_the_old_client_says_so_and_a_new_one_works(scenario: Scenarios) -> None:
    # What Python itself says of a fork with threads, from 3.12 on, is known.
    options = ["-W", "ignore::DeprecationWarning"]
    assert support.program(FORKED, scenario().url, seconds=300, options=options) == ""


MULTIPROCESSING = """
import multiprocessing, sys
import oncewire

def work(url):
    with oncewire.connect_sync(url) as client:
        return client.call_tool("peek").text

if __name__ == "__main__":
    url = sys.argv[1]
    client = oncewire.connect_sync(url)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        assert len(pool.map(work, [url] * 16)) == 16
    assert client.call_tool("peek").text
"""


def workers_of_multiprocessing_have_clients_of_their_own(scenario: Scenarios) -> None:
    assert support.program(MULTIPROCESSING, scenario().url, options=["-W", "ignore::DeprecationWarning"]) == ""


# A shell that starts a job in the background has it ignore SIGINT, and what the job starts inherits that.
INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import oncewire
client = oncewire.connect_sync(sys.argv[1])
print("calling", flush=True)
try:
    client.call_tool("poke")
except KeyboardInterrupt:
    print("interrupted", flush=True)
client.close()
"""


def ctrl_c_ends_a_blocking_call_within_a_second(scenario: Scenarios) -> None:
    there = scenario(PENDING)
    command = [sys.executable, "-c", INTERRUPTED, there.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "calling\n"
        support.until(lambda: there.arrivals(name="poke") == 1)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - began < 1
        assert process.wait(10) == 0
    # The server is told, once.
    assert len(there.ledger()["cancelled"]) == 1


def a_blocking_call_lets_other_threads_run(scenario: Scenarios) -> None:
    import threading

    there = scenario({"when": {"name": "poke"}, "do": [{"gate": "held"}, "answer"]})
    with oncewire.connect_sync(there.url) as client:
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(client.call_tool("poke")))
        thread.start()
        support.until(lambda: there.arrivals(name="poke") == 1)
        # This thread runs, and uses the client, while the other one waits.
        assert client.call_tool("peek").text
        assert results == []
        there.control({"release": "held"})
        thread.join(5)
        assert len(results) == 1


def two_loops_in_two_threads_share_one_client(scenario: Scenarios) -> None:
    import threading

    there = scenario()
    answered: list[str] = []

    async def calls(client: oncewire.Client) -> None:
        results = await asyncio.gather(*(client.call_tool("peek") for _ in range(50)))
        answered.extend(result.text for result in results)

    async def main() -> None:
        async with oncewire.connect(there.url) as client:
            thread = threading.Thread(target=lambda: asyncio.run(calls(client)))
            thread.start()
            await calls(client)
            await asyncio.to_thread(thread.join)
            assert client.generation == 1

    asyncio.run(main())
    assert len(answered) == 100
    assert there.arrivals(rpc="initialize") == 1


def a_client_outlives_the_loop_that_it_was_made_on(scenario: Scenarios) -> None:
    there = scenario(tokens=["one"])
    asked: list[Any] = []
    events: list[str] = []

    async def token(refused: str | None) -> str:
        asked.append(refused)
        return "one" if refused is None else "two"

    client = asyncio.run(
        _awaited(oncewire.connect(there.url, token=token, on_event=lambda event: events.append(event.event)))
    )
    there.control({"accept_tokens": ["two"]})

    async def later() -> None:
        assert (await client.call_tool("peek")).text
        await client.close()

    asyncio.run(later())
    assert asked == [None, "one"]
    support.until(lambda: "closed" in events)


def no_event_is_lost_with_the_loop_that_was_to_tell_it(scenario: Scenarios) -> None:
    there = scenario()

    def once() -> None:
        events: list[str] = []
        # The loop is closed while events of the connection are on their way to it.
        client = asyncio.run(_awaited(oncewire.connect(there.url, on_event=lambda event: events.append(event.event))))
        asyncio.run(client.close())
        support.until(lambda: "closed" in events)

    for _ in range(100):
        once()


async def _awaited(connecting: oncewire.Connecting) -> oncewire.Client:
    return await connecting


def it_works_under_uvloop(scenario: Scenarios) -> None:
    code = """
import asyncio, sys
import uvloop
import oncewire
async def main():
    seen = []
    async with oncewire.connect(sys.argv[1], on_event=lambda event: seen.append(event.event)) as client:
        assert (await client.call_tool("peek")).text
        try:
            await asyncio.wait_for(client.call_tool("poke"), 0.05)
        except asyncio.TimeoutError:
            pass
        else:
            raise AssertionError
    await asyncio.sleep(0.05)
    assert seen[0] == "connecting" and "closed" in seen, seen
loop = uvloop.new_event_loop()
loop.run_until_complete(main())
loop.close()
"""
    assert support.program(code, scenario(PENDING).url) == ""


def it_works_under_anyio_on_asyncio(scenario: Scenarios) -> None:
    import anyio

    there = scenario(PENDING)

    async def main() -> None:
        async with oncewire.connect(there.url) as client, anyio.create_task_group() as group:
            assert (await client.call_tool("peek")).text
            with anyio.move_on_after(0.05) as scope:
                await client.call_tool("poke")
            assert scope.cancelled_caught
            group.start_soon(client.ping)

    anyio.run(main)
    support.until(lambda: len(there.ledger()["cancelled"]) == 1)


def it_works_in_a_notebook(scenario: Scenarios) -> None:
    import nbformat
    from nbclient import NotebookClient

    cells = [
        "import oncewire",
        f"client = await oncewire.connect({scenario().url!r})",
        "(await client.call_tool('peek')).text",
        f"with oncewire.connect_sync({scenario().url!r}) as blocking: print(blocking.call_tool('peek').text)",
        "await client.close()",
    ]
    code: list[dict[str, Any]] = [
        {"cell_type": "code", "id": f"cell-{n}", "metadata": {}, "source": cell} for n, cell in enumerate(cells)
    ]
    for cell in code:
        cell |= {"execution_count": None, "outputs": []}
    notebook = nbformat.from_dict({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})  # type: ignore[no-untyped-call]
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    done = NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    outputs = [output for cell in done.cells for output in cell.outputs]
    assert [output.get("text") or output.data["text/plain"] for output in outputs] == ["'peek done'", "peek done\n"]


def trio_gets_a_clear_error(scenario: Scenarios) -> None:
    import trio

    async def main() -> None:
        async with oncewire.connect(scenario().url):
            pass

    with pytest.raises(RuntimeError, match=r"asyncio.*trio\.to_thread\.run_sync"):
        trio.run(main)


def trio_can_use_the_blocking_client_in_a_thread(scenario: Scenarios) -> None:
    import trio

    there = scenario()

    def work() -> str:
        with oncewire.connect_sync(there.url) as client:
            return client.call_tool("peek").text

    assert trio.run(trio.to_thread.run_sync, work) == "peek done"


def a_subinterpreter_gets_a_clear_error() -> None:
    code = """
import oncewire
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
made = interpreters.create()
try:
    failure = interpreters.run_string(made, "import oncewire")
except interpreters.RunFailedError as error:
    failure = error
assert "subinterpreter" in str(failure), failure
"""
    assert support.program(code) == ""


def the_import_is_light() -> None:
    def best(code: str) -> float:
        times: list[float] = []
        for _ in range(15):
            # The processor's time, not the clock's: the machine may be busy with other things.
            process = subprocess.Popen([sys.executable, "-c", code])
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            assert process.returncode == 0
            times.append(used.ru_utime + used.ru_stime)
        return min(times)

    assert best("import oncewire") - best("pass") < 0.060
