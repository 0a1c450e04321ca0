"""How a client logs in. What is decided about it, and every default, is the core's; `docs/oauth.md` has them with their reasons."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal, Protocol, Union, cast

Seconds = Union[float, timedelta]
"""A duration: seconds, or a `timedelta`."""


class LoginStore(Protocol):
    """Where logins are kept. Keys and values are texts; a value is one JSON document that only oncewire reads, and secret as a whole.

    Each method may be a function or a coroutine function. What it raises makes oncewire forget no login.
    """

    def load(self, key: str) -> str | Awaitable[str | None] | None:
        """What was saved last under this key, by whichever process; None if nothing was."""

    def save(self, key: str, value: str | None) -> Awaitable[None] | None:
        """Keep the value, durably when this returns; None removes what is there."""

    def lock(self, key: str) -> Awaitable[None] | None:
        """Take the lock of this key, exclusive in all processes that share the store. Waits for it; one of a dead process is free."""

    def unlock(self, key: str) -> Awaitable[None] | None:
        """Give the lock back. It is no error if it was not held."""


@dataclass(frozen=True)
class Enterprise:
    """The identity provider of an enterprise, with which the person is logged in (enterprise-managed authorization)."""

    token_endpoint: str
    """Where it exchanges tokens."""
    client_id: str
    """The client as it knows it."""
    id_token: Callable[[], str | Awaitable[str]]
    """Gives the person's ID token. Sync or async."""
    client_secret: str | None = field(default=None, repr=False)
    """Its secret there, if it has one."""


@dataclass(frozen=True)
class OAuth:
    """How a client logs in (OAuth 2.1, as MCP has it).

    With nothing more said it finds the authorization server, registers, opens the browser, waits on the loopback interface for it to come
    back, stores the login in a file of the user alone, and refreshes it.
    """

    client_id: str | None = None
    """The id of a client that was registered beforehand. Default: `client_metadata_url`, or the client registers itself."""
    client_secret: str | None = field(default=None, repr=False)
    """Its secret. It is sent to the issuer that it was first used with, or to `issuer`, and to no other."""
    client_metadata_url: str | None = None
    """The https URL of a document that describes the client, its id where the authorization server takes such."""
    client_name: str | None = None
    """The name under which the client registers itself. Default: oncewire."""
    issuer: str | None = None
    """The authorization server to take, by its issuer. Default: the first one that the server names."""
    scopes: Sequence[str] | None = None
    """The scopes to ask for. Default: what the server's challenge names, else what its metadata lists."""
    redirect_uri: str | None = None
    """Where the browser is sent after the login. Default: `http://127.0.0.1:PORT/callback`."""
    redirect_port: int | None = None
    """The port of the default redirect URI. Default: a free one."""
    account: str | None = None
    """Whose login, where one user has several with the same server."""
    store: LoginStore | Literal["memory"] | None = None
    """Where logins are kept: your own store, or in memory as long as the client lives. Default: a file of the user alone."""
    folder: str | os.PathLike[str] | None = None
    """The folder of the files of logins. Default: one of the user."""
    open: Callable[[str], Any] | None = None
    """Shows the URL at which a person logs in. Sync or async. Default: opens the browser."""
    receive: Callable[[str], str | Awaitable[str]] | None = None
    """Gives the URL that the browser was redirected to, whole; it gets the one at which the person logs in. Sync or async.
    Default: a listener on the loopback interface."""
    client_credentials: bool = False
    """The client logs in for itself: no person, no browser."""
    private_key: tuple[str, Literal["ES256", "RS256"]] | None = field(default=None, repr=False)
    """A key in the place of `client_secret`: PEM of PKCS #8, and its algorithm."""
    workload_identity: Callable[[], str | Awaitable[str]] | None = None
    """The platform vouches for the client: gives its assertion, a JWT, each time a token is asked for. Sync or async."""
    enterprise: Enterprise | None = None
    """The identity provider of an enterprise decides."""
    dpop: bool = False
    """Bind tokens to a key of this login (RFC 9449). An authorization server that does not offer it is refused."""
    wait_for_login: bool = True
    """Calls wait for a person to log in, within their deadline; if not they fail at once, as `auth` and `not_executed`."""
    login_timeout: Seconds | None = None
    """How long a person has. Default: 5 minutes."""
    allow_unlisted_pkce: Sequence[str] = ()
    """Issuers that are used although their metadata does not list PKCE with S256."""

    def _as_given(self) -> str:
        """What is plain of it, for the core."""
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "client_id",
                "client_secret",
                "client_metadata_url",
                "client_name",
                "issuer",
                "redirect_uri",
                "redirect_port",
                "account",
            )
        }
        given |= {
            "client_credentials": self.client_credentials,
            "dpop": self.dpop,
            "wait_for_login": self.wait_for_login,
        }
        given["scopes"] = None if self.scopes is None else list(self.scopes)
        given["allow_unlisted_pkce"] = list(self.allow_unlisted_pkce)
        given["store"] = self.store if self.store is None or self.store == "memory" else "host"
        given["folder"] = None if self.folder is None else os.fspath(self.folder)
        given |= {name: getattr(self, name) is not None for name in ("open", "receive", "workload_identity")}
        if self.private_key is not None:
            pem, algorithm = self.private_key
            given["private_key"] = {"pem": pem, "algorithm": algorithm}
        if self.enterprise is not None:
            given["enterprise"] = {
                name: getattr(self.enterprise, name) for name in ("token_endpoint", "client_id", "client_secret")
            }
        if self.login_timeout is not None:
            timeout = self.login_timeout
            seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
            given["login_timeout_ms"] = round(seconds * 1_000)
        return json.dumps(given)

    async def _answer(self, question: dict[str, Any]) -> Any:
        """What the core asks for."""
        ask: str = question["ask"]
        if ask == "open" and self.open is not None:
            await _end_of(self.open(question["url"]))
            return None
        if ask == "receive" and self.receive is not None:
            return await _end_of(self.receive(question["url"]))
        if ask == "workload_identity" and self.workload_identity is not None:
            return await _end_of(self.workload_identity())
        if ask == "id_token" and self.enterprise is not None:
            return await _end_of(self.enterprise.id_token())
        if self.store is None or self.store == "memory":
            raise TypeError(f"nobody answers {ask}")
        store = self.store
        if ask == "load":
            return await _end_of(store.load(question["key"]))
        if ask == "save":
            await _end_of(store.save(question["key"], question["value"]))
        elif ask == "lock":
            await _end_of(store.lock(question["key"]))
        else:
            await _end_of(store.unlock(question["key"]))
        return None


async def _end_of(made: Any) -> Any:
    return await cast("Awaitable[Any]", made) if isinstance(made, Awaitable) else made
