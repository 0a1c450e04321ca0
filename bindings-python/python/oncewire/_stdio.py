"""The command that starts a server on stdio, on its way to the core."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union

Inherit = Union[Literal["listed", "all"], Sequence[str]]
"""Which variables of this process's environment the server gets: the listed ones, all, or these alone."""

Text = Union[str, "os.PathLike[str]"]
"""A text, or a path."""


def described(
    command: Text, args: Sequence[Text], env: Mapping[str, str] | None, folder: Text | None, inherit: Inherit | None
) -> str:
    """The command as JSON."""
    if isinstance(args, str):
        raise TypeError("args: a sequence of str is wanted, not one str: no shell splits it")
    given: dict[str, Any] = {"command": os.fspath(command), "args": [os.fspath(arg) for arg in args]}
    if env is not None:
        given["env"] = dict(env)
    if folder is not None:
        given["folder"] = os.fspath(folder)
    if inherit is not None:
        given["inherit"] = inherit if isinstance(inherit, str) else list(inherit)
    return json.dumps(given)
