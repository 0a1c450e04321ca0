"""What a client tells while it works: events, progress, notifications of the server."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from ._json import read
from ._words import EventName, Execution, Kind, Proof


def _duration(milliseconds: int | None) -> timedelta | None:
    return None if milliseconds is None else timedelta(milliseconds=milliseconds)


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, timezone.utc)


@dataclass(frozen=True)
class Event:
    """Something that happened inside a client. Fields that do not apply are None. No event holds a secret."""

    event: EventName
    """What happened."""
    at: datetime
    """When."""
    server: str | None
    """Which server: the origin and path of its URL. A part of the path that looks like a key is `[redacted]`."""
    generation: int | None
    """Which session: 1 for the first, one more for each recovery."""
    method: str | None
    """The method of the call, for example `tools/call`."""
    name: str | None
    """The tool, prompt or URI of the call."""
    idempotency_key: str | None
    """The key of the call, the same in all its attempts. It finds the verdict of a cancelled call."""
    request_id: int | None
    """The JSON-RPC id of the attempt."""
    attempt: int | None
    """Which attempt of the call, from 1; in `call_finished`, how many there were."""
    kind: Kind | None
    """What went wrong."""
    proof: Proof | None
    """Why it is certain that the attempt, or the call, did not run."""
    execution: Execution | None
    """The verdict on the attempt, or on the call."""
    decision: str | None
    """What is done about it: `resend`, `recover`, `verify`, `refresh`, `look_up_hints`, `resume`, `surface`, `deliver`."""
    delay: timedelta | None
    """How long the decision waits first."""
    http_status: int | None
    """The status of the answer."""
    url: str | None
    """Where a person logs in, with `login_needed`. Whoever opens it logs in for this client: show it to that person alone."""
    reason: str | None
    """More, in words."""
    _fields: dict[str, Any] = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The event as one JSON object; what does not apply is left out."""
        return copy.deepcopy(self._fields)

    @classmethod
    def _from_json(cls, text: str) -> Event:
        fields = read(text)
        return cls(
            event=fields["event"],
            at=_time(fields["at_ms"]),
            server=fields.get("server"),
            generation=fields.get("generation"),
            method=fields.get("method"),
            name=fields.get("name"),
            idempotency_key=fields.get("idempotency_key"),
            request_id=fields.get("request_id"),
            attempt=fields.get("attempt"),
            kind=fields.get("kind"),
            proof=fields.get("proof"),
            execution=fields.get("execution"),
            decision=fields.get("decision"),
            delay=_duration(fields.get("delay_ms")),
            http_status=fields.get("http_status"),
            url=fields.get("url"),
            reason=fields.get("reason"),
            _fields=fields,
        )


@dataclass(frozen=True)
class Progress:
    """One progress notification of a call."""

    progress: float
    """How far it is."""
    total: float | None
    """How far it will go, if known."""
    message: str | None
    """In words."""

    @classmethod
    def _from_json(cls, text: str) -> Progress:
        return cls(**read(text))


@dataclass(frozen=True)
class ServerNotification:
    """A notification of the server: `notifications/message`, `notifications/tools/list_changed`, …"""

    method: str
    """The method, as on the wire."""
    params: Any
    """The params, as the server sent them; None if there were none."""
    generation: int
    """Which session it came on."""

    @classmethod
    def _from_json(cls, text: str) -> ServerNotification:
        return cls(**read(text))
