"""Why a call gave no result: the class says what to do next, `kind` says what happened."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ._events import _time
from ._json import read
from ._words import Execution, Kind, Phase, Proof, ProofBasis

__all__ = [
    "AnsweredError",
    "Attempt",
    "MayHaveExecutedConnectionError",
    "MayHaveExecutedError",
    "MayHaveExecutedTimeoutError",
    "NotExecutedConnectionError",
    "NotExecutedError",
    "NotExecutedTimeoutError",
    "OncewireError",
]


@dataclass(frozen=True)
class Attempt:
    """One HTTP request that tried to carry out a call, and what is known of it."""

    id: int
    """The JSON-RPC id of this attempt."""
    generation: int | None
    """The session that carried it."""
    kind: Kind | None
    """What went wrong; None for an attempt that was answered with a result."""
    execution: Execution
    """The verdict on this attempt alone."""
    proof: Proof | None
    """Why this attempt is `not_executed`."""
    proof_basis: ProofBasis | None
    """What that rests on; there exactly if `proof` is."""
    phase: Phase
    """Where it failed."""
    http_status: int | None
    """The status of the answer, if its head arrived."""
    started: datetime
    """When it started."""
    elapsed: timedelta
    """How long it took."""
    response_started: bool
    """Evidence: the head of an answer had arrived."""
    progress_seen: bool
    """Evidence: progress of this attempt had arrived, so it was running."""

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> Attempt:
        return cls(
            id=fields["id"],
            generation=fields["generation"],
            kind=fields["kind"],
            execution=fields["execution"],
            proof=fields["proof"],
            proof_basis=fields.get("proof_basis"),
            phase=fields["phase"],
            http_status=fields["http_status"],
            started=_time(fields["started_ms"]),
            elapsed=timedelta(milliseconds=fields["elapsed_ms"]),
            response_started=fields["response_started"],
            progress_seen=fields["progress_seen"],
        )


class OncewireError(Exception):
    """A call gave no result. Its text is fit to be shown to a person and handed to a model; it holds no secret."""

    kind: Kind
    """What went wrong."""
    execution: Execution
    """Did the server carry it out?"""
    method: str
    """The method of the call, for example `tools/call`."""
    name: str | None
    """The tool, prompt or URI that was called."""
    http_status: int | None
    """The status of the last answer, if its head arrived."""
    idempotency_key: str | None
    """The key under which the server saw all attempts of this call."""
    attempts: tuple[Attempt, ...]
    """Every attempt, in order."""

    def __init__(self, text: str, fields: dict[str, Any]) -> None:
        super().__init__(text)
        self._text = text
        self._fields = fields
        self.kind = fields["kind"]
        self.execution = fields["execution"]
        self.method = fields["method"]
        self.name = fields.get("name")
        self.http_status = fields.get("http_status")
        self.idempotency_key = fields.get("idempotency_key")
        self.attempts = tuple(Attempt._of(attempt) for attempt in fields["attempts"])

    def __str__(self) -> str:
        return self._text

    def __reduce__(self) -> tuple[Callable[..., OncewireError], tuple[str, dict[str, Any]]]:
        return _make, (self._text, self._fields)

    def to_dict(self) -> dict[str, Any]:
        """The error as one JSON object, with its text under `text`."""
        return {**copy.deepcopy(self._fields), "text": self._text}


class _Failure(OncewireError):
    proof: Proof | None
    """Why the call is known not to have run; only with `not_executed`."""
    proof_basis: ProofBasis | None
    """What that rests on; there exactly if `proof` is."""
    phase: Phase
    """Where the call was when it failed."""
    retry_after: timedelta | None
    """How long the server asked to wait."""
    generation: int | None
    """The session that carried the last attempt."""
    reason: str
    """What happened, in words, without the advice."""
    excerpt: str | None
    """The beginning of an answer that was none, for example a gateway's HTML page."""

    def __init__(self, text: str, fields: dict[str, Any]) -> None:
        super().__init__(text, fields)
        self.proof = fields.get("proof")
        self.proof_basis = fields.get("proof_basis")
        self.phase = fields["phase"]
        seconds = fields.get("retry_after_seconds")
        self.retry_after = None if seconds is None else timedelta(seconds=seconds)
        self.generation = fields.get("generation")
        self.reason = fields["reason"]
        self.excerpt = fields.get("excerpt")


class NotExecutedError(_Failure):
    """Proven: the server did not run the call; `proof` says why, `proof_basis` what that rests on. Calling again is safe."""


class MayHaveExecutedError(_Failure):
    """No proof either way: the server may have run the call. Verify before calling again.

    A timeout is also a `TimeoutError`: `except TimeoutError: call again` repeats what may have run. Catch this class first.
    """


class AnsweredError(OncewireError):
    """The server answered with a JSON-RPC error, which says nothing of effects: a handler can raise it after its effect.

    Or with a result that is none (kind `protocol`): a string, a list, None, where the method gives an object.
    """

    code: int
    """The code of the JSON-RPC error; 0 if there is none that can be read, and for a result that is none."""
    message: str
    """Its message, as the server sent it, but that `[redacted]` takes the place of what the client had sent as secret."""
    data: Any
    """Its data, as the server sent it, but for the same; of a result that is none, the result."""

    def __init__(self, text: str, fields: dict[str, Any]) -> None:
        super().__init__(text, fields)
        self.code = fields["code"]
        self.message = fields["message"]
        self.data = fields.get("data")


class NotExecutedTimeoutError(NotExecutedError, TimeoutError):
    """A `NotExecutedError` of kind `timeout`, which is also a `TimeoutError`."""


class NotExecutedConnectionError(NotExecutedError, ConnectionError):
    """A `NotExecutedError` of kind `connect`, which is also a `ConnectionError`."""


class MayHaveExecutedTimeoutError(MayHaveExecutedError, TimeoutError):
    """A `MayHaveExecutedError` of kind `timeout`, which is also a `TimeoutError`."""


class MayHaveExecutedConnectionError(MayHaveExecutedError, ConnectionError):
    """A `MayHaveExecutedError` of kind `connect`, which is also a `ConnectionError`: an earlier attempt was lost without proof."""


_CLASSES: dict[tuple[str, str | None], type[OncewireError]] = {
    ("not_executed", None): NotExecutedError,
    ("not_executed", "timeout"): NotExecutedTimeoutError,
    ("not_executed", "connect"): NotExecutedConnectionError,
    ("may_have_executed", None): MayHaveExecutedError,
    ("may_have_executed", "timeout"): MayHaveExecutedTimeoutError,
    ("may_have_executed", "connect"): MayHaveExecutedConnectionError,
    ("answered", None): AnsweredError,
}


def _make(text: str, fields: dict[str, Any]) -> OncewireError:
    execution: str = fields["execution"]
    made = _CLASSES.get((execution, fields["kind"])) or _CLASSES[execution, None]
    return made(text, fields)


def from_json(fields: str, text: str) -> OncewireError:
    """Called by the native module."""
    return _make(text, read(fields))
