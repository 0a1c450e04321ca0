"""JSON text to Python objects, without loss."""

from __future__ import annotations

import json
from typing import Any

# Python refuses to read longer integers in one piece (sys.set_int_max_str_digits); pieces of this size are always read.
_PIECE = 600


def read(text: str) -> Any:
    """The value of a JSON text; integers stay integers, of any size."""
    try:
        return json.loads(text)
    except ValueError:
        # The text is JSON, or the core would have refused it: it has an integer past Python's limit.
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int:
    if digits.startswith("-"):
        return -_integer(digits[1:])
    if len(digits) <= _PIECE:
        return int(digits)
    low = len(digits) // 2
    shift: int = 10**low
    return _integer(digits[:-low]) * shift + _integer(digits[-low:])
