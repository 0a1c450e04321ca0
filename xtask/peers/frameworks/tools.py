"""The tools of the small servers here on frameworks for Python: three at once, and one that takes a while, each with its line in the ledger."""

import argparse
import asyncio

from common import Ledger

_parser = argparse.ArgumentParser()
_parser.add_argument("--port", type=int, required=True)
_parser.add_argument("--ledger", required=True)
_parser.add_argument("--mode", default="")
options = _parser.parse_args()
_ledger = Ledger(options.ledger)
# A gateway may know the tools by longer names.
prefix = {"before": ""}


async def poke() -> str:
    """May change something."""
    _ledger.both(prefix["before"] + "poke")
    return "poke ran"


async def peek() -> str:
    """Only reads."""
    _ledger.both(prefix["before"] + "peek")
    return "peek ran"


async def nudge() -> str:
    """May be repeated."""
    _ledger.both(prefix["before"] + "nudge")
    return "nudge ran"


async def slow(seconds: float) -> str:
    """May change something, and takes a while."""
    _ledger.write(prefix["before"] + "slow", "start")
    await asyncio.sleep(seconds)
    _ledger.write(prefix["before"] + "slow", "end")
    return "slow ran"


# What each says of itself.
HINTS = {
    poke: {},
    peek: {"readOnlyHint": True},
    nudge: {"readOnlyHint": False, "idempotentHint": True},
    slow: {},
}
