"""Logins: the options reach the core, and what it asks reaches the callbacks, sync or async. What is decided is tested in the core."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from typing import Any

import oncewire
import pytest
from conftest import Scenarios


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _browser(url: str) -> str:
    """What a browser would be sent to: the server grants everything at once."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay)
    try:
        opener.open(url)
    except urllib.error.HTTPError as error:
        return str(error.headers["location"])
    raise AssertionError("there was no redirect")


async def _later(url: str) -> str:
    return await asyncio.to_thread(_browser, url)


class _Store:
    """A store of the host, half of it async."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.asked: list[str] = []

    def load(self, key: str) -> str | None:
        self.asked.append("load")
        return self.values.get(key)

    async def save(self, key: str, value: str | None) -> None:
        self.asked.append("save")
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value

    async def lock(self, key: str) -> None:
        self.asked.append("lock")

    def unlock(self, key: str) -> None:
        self.asked.append("unlock")


@pytest.mark.parametrize("receive", [_browser, _later], ids=["sync", "async"])
async def a_client_logs_in_by_itself(scenario: Scenarios, receive: Any) -> None:
    there = scenario(authorization={}, protected={})
    events: list[oncewire.Event] = []
    opened: list[str] = []
    oauth = oncewire.OAuth(store="memory", open=opened.append, receive=receive)
    async with oncewire.connect(there.url, oauth=oauth, on_event=events.append) as client:
        assert (await client.call_tool("peek")).text
        await client.login()
        assert client.state == "ready"
    [needed] = [event for event in events if event.event == "login_needed"]
    assert needed.url is not None and opened == [needed.url]
    assert [event.event for event in events if event.event == "login_done"] == ["login_done"]


async def the_login_is_kept_in_a_store_of_the_host(scenario: Scenarios) -> None:
    there = scenario(authorization={}, protected={})
    store = _Store()
    for logins in ([1], []):
        asked: list[int] = []

        async def receive(url: str, asked: list[int] = asked) -> str:
            asked.append(1)
            return await _later(url)

        async with oncewire.connect(there.url, oauth=oncewire.OAuth(store=store, receive=receive)) as client:
            await client.call_tool("peek")
        assert asked == logins
    assert store.asked.count("lock") == store.asked.count("unlock") == 1
    async with oncewire.connect(there.url, oauth=oncewire.OAuth(store=store, receive=_later)) as client:
        await client.logout()
    assert "access_token" not in str(store.values)


async def a_callback_that_fails_fails_the_login_and_says_why(scenario: Scenarios) -> None:
    there = scenario(authorization={}, protected={})

    def receive(_: str) -> str:
        raise KeyError("nobody is here")

    with pytest.raises(oncewire.NotExecutedError) as raised:
        await oncewire.connect(there.url, oauth=oncewire.OAuth(store="memory", receive=receive))
    assert raised.value.kind == "auth"
    assert "nobody is here" in str(raised.value)


def the_blocking_twin_logs_in_too(scenario: Scenarios) -> None:
    there = scenario(authorization={}, protected={})
    with oncewire.connect_sync(there.url, oauth=oncewire.OAuth(store="memory", receive=_browser)) as client:
        client.login()
        assert client.call_tool("peek").text
        client.logout()


async def what_cannot_be_used_names_itself(scenario: Scenarios) -> None:
    there = scenario()
    with pytest.raises(oncewire.NotExecutedError, match="need client_id"):
        await oncewire.connect(there.url, oauth=oncewire.OAuth(client_secret="s3cret"))
    with pytest.raises(ValueError, match="the one or the other"):
        await oncewire.connect(there.url, oauth=oncewire.OAuth(store="memory", folder="here"))


def no_secret_is_shown() -> None:
    shown = repr(oncewire.OAuth(client_id="c", client_secret="s3cret", private_key=("k3y", "ES256")))
    assert "'c'" in shown
    assert "s3cret" not in shown
    assert "k3y" not in shown
