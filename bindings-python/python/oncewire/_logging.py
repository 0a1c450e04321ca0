"""The core's log lines, in `logging`."""

from __future__ import annotations

import logging
from typing import Any

_logger = logging.getLogger("oncewire")
_logger.addHandler(logging.NullHandler())

# What `logging` does not let `extra` overwrite.
_RESERVED = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


def level() -> int:
    """The lowest level that anybody listens to. Called by the native module."""
    return max(_logger.getEffectiveLevel(), _logger.manager.disable + 1)


def take(records: list[tuple[int, str, dict[str, Any]]], dropped: int) -> None:
    """Log these. Called by the native module, on its own thread."""
    for number, message, fields in records:
        text = " ".join([message] * bool(message) + [f"{name}={value}" for name, value in fields.items()])
        extra = {f"{name}_" if name in _RESERVED else name: value for name, value in fields.items()}
        _logger.log(number, "%s", text, extra=extra)
    if dropped:
        _logger.warning("%d log lines were dropped: the handlers are slow", dropped)
