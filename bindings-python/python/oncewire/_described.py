"""What both clients say of themselves and of their server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ._json import read
from ._words import State

if TYPE_CHECKING:
    from . import _native


class Described:
    """Properties that need no call. Those of the server are None before the first handshake."""

    _native: _native.Client

    def _initialized(self) -> dict[str, Any]:
        text = self._native.initialized
        value: Any = None if text is None else read(text)
        return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

    @property
    def server_info(self) -> dict[str, Any] | None:
        """Name, version, … of the server, as it sent them."""
        return self._initialized().get("serverInfo")

    @property
    def capabilities(self) -> dict[str, Any] | None:
        """What the server offers, as it sent it."""
        return self._initialized().get("capabilities")

    @property
    def instructions(self) -> str | None:
        """How the server wants to be used."""
        return self._initialized().get("instructions")

    @property
    def protocol_version(self) -> str | None:
        """The version that both sides speak."""
        return self._initialized().get("protocolVersion")

    @property
    def era(self) -> str | None:
        """The era that both sides speak: `legacy` or `modern`."""
        return self._native.era

    @property
    def state(self) -> State:
        """Where the client stands: `idle`, `connecting`, `ready`, `recovering`, `lost`, `closed`; `login_needed` while it waits for a
        person to log in."""
        return self._native.state

    @property
    def generation(self) -> int:
        """Which session: 0 before the first, one more for each recovery."""
        return self._native.generation

    @property
    def is_closed(self) -> bool:
        """Is the client closed, or closing?"""
        return self._native.is_closed

    def __repr__(self) -> str:
        return f"<oncewire.{type(self).__name__} {self.state}, generation {self.generation}>"
