"""Options: all that the core has, under its names; what is not given is not said."""

from __future__ import annotations

import re
import typing
from datetime import timedelta
from typing import Any

import oncewire
import pytest
import support
from conftest import Scenarios
from oncewire import _options

SOURCE = support.ROOT / "core" / "src"

# What has another shape in Python: one option where Rust needs two methods, and the steps of building.
OTHERWISE = {
    "token_provider": "token",
    "header_provider": "headers",
    "header": "headers",
    # The package gives the files that the environment names.
    "trusted_files": "root_certificates",
}
STEPS = {"build", "connect", "exchange"}
# For programs that stand between a host and a server, as the proxy does; docs/options.md says so.
RUST_ONLY = {"capabilities", "on_request"}


def _methods(file: str, kind: str) -> set[str]:
    """The public methods of a type of the core."""
    text = (SOURCE / file).read_text()
    [block] = re.findall(rf"^impl(?:<T>)? {kind} \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    return set(re.findall(r"^    pub (?:async )?fn (\w+)", block, re.MULTILINE))


@pytest.mark.skipif(not SOURCE.is_dir(), reason="the core is not beside the package")
def every_option_of_the_core_is_here() -> None:
    theirs = {OTHERWISE.get(name, name) for name in _methods("client/builder.rs", "ClientBuilder") - STEPS - RUST_ONLY}
    assert set(_options.ConnectOptions.__annotations__) == theirs


@pytest.mark.skipif(not SOURCE.is_dir(), reason="the core is not beside the package")
def every_option_of_a_call_is_here() -> None:
    theirs = _methods("client/request.rs", r"Call<T>") - {"options", "without_idempotency_key"} - RUST_ONLY
    assert set(_options.RequestOptions.__annotations__) == theirs
    of_lists = _methods("client/request.rs", r"ListCall<T>") - {"options", "cursor"}
    assert set(_options.ListOptions.__annotations__) >= of_lists


@pytest.mark.skipif(not SOURCE.is_dir(), reason="the core is not beside the package")
def every_method_of_the_core_is_here() -> None:
    # `notify`, too, is for programs that stand between.
    theirs = _methods("client/mod.rs", "Client") - {"builder", "initialized", "ready", "notify"}
    theirs = {name for name in theirs if not name.endswith("_json")}
    ours = {name for kind in oncewire.Client.__mro__ for name in vars(kind) if not name.startswith("_")}
    assert ours == theirs


@pytest.mark.parametrize(
    ("kind", "file"),
    [
        ("Execution", "vocabulary/outcome.rs"),
        ("Proof", "vocabulary/outcome.rs"),
        ("ProofBasis", "vocabulary/outcome.rs"),
        ("Kind", "vocabulary/outcome.rs"),
        ("Phase", "vocabulary/outcome.rs"),
        ("EventName", "vocabulary/event.rs"),
    ],
)
@pytest.mark.skipif(not SOURCE.is_dir(), reason="the core is not beside the package")
def every_word_of_the_core_is_here(kind: str, file: str) -> None:
    text = (SOURCE / file).read_text()
    [block] = re.findall(rf"pub enum {kind} \{{\n(.*?)^\}}", text, re.DOTALL | re.MULTILINE)
    variants = re.findall(r"^    (\w+),", block, re.MULTILINE)
    theirs = [re.sub(r"(?<!^)([A-Z])", r"_\1", variant).lower() for variant in variants]
    assert list(typing.get_args(getattr(oncewire, kind))) == theirs


EVERYTHING: dict[str, Any] = {
    "timeout": timedelta(seconds=5),
    "idle_timeout": 5,
    "reset_on_progress": True,
    "max_total_timeout": 10.5,
    "resend": "default",
    "tool_options": {"poke": {"timeout": 3, "resend": "never", "idle_timeout": None}},
    "orphan_timeout": 60,
    "connect_timeout": timedelta(seconds=10),
    "connect_patience": 0,
    "handshake_timeout": 30,
    "close_timeout": 5,
    "retry_after_max": 60,
    "backoff": (0.1, timedelta(seconds=5)),
    "retry_budget": (20, 10),
    "max_message": 1 << 20,
    "max_event": 1 << 20,
    "max_pages": 10,
    "pool_idle_timeout": 4,
    "fresh_connection": True,
    "tcp_keep_alive": (15, 3),
    "http2_ping": (30, 20),
    "trust_annotations": "read_only",
    "recovery": "surface",
    "era": "legacy",
    "extensions": {"dev.example/one": {"n": 1}},
    "cache": True,
    "cookies": False,
    "lazy": False,
    "listen": False,
    "idempotency_keys": True,
    "token": "t",
    "headers": {"X-A": "b"},
    "client_info": ("host", "1.0"),
    "no_proxy": True,
    "http1_only": True,
    "http2_only": False,
    "proxy": None,
    "on_event": None,
}


async def every_option_can_be_given(scenario: Scenarios) -> None:
    async with oncewire.connect(scenario().url, **EVERYTHING) as client:
        await client.call_tool(
            "poke",
            timeout=5,
            idle_timeout=timedelta(seconds=1),
            reset_on_progress=False,
            max_total_timeout=9,
            resend="never",
        )


@pytest.mark.parametrize(
    ("options", "kind", "text"),
    [
        ({"tiemout": 1}, TypeError, 'there is no option "tiemout"'),
        ({"timeout": "1"}, TypeError, "timeout: must be seconds or a timedelta, not str"),
        ({"timeout": True}, TypeError, "timeout: must be seconds or a timedelta, not bool"),
        ({"timeout": -1}, ValueError, "timeout: "),
        ({"timeout": timedelta(seconds=-1)}, ValueError, "timeout: "),
        ({"timeout": float("nan")}, ValueError, "timeout: "),
        (
            {"resend": "sometimes"},
            ValueError,
            "resend: unknown variant `sometimes`, expected one of `always`, `default`, `never`",
        ),
        ({"lazy": 1}, TypeError, "lazy: must be a bool, not int"),
        ({"max_pages": -1}, TypeError, "max_pages: must be a number"),
        ({"backoff": 3}, TypeError, "backoff: must be a pair of durations"),
        ({"on_event": 3}, TypeError, "on_event: must be callable, not int"),
        ({"token": 3}, TypeError, "token: must be a str, not int"),
        ({"tool_options": {"poke": {"tiemout": 1}}}, TypeError, 'there is no option "tiemout"'),
    ],
)
def an_option_that_cannot_be_used_names_itself(options: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind) as raised:
        oncewire.connect_sync("http://127.0.0.1:1/mcp", **options)
    assert str(raised.value).startswith(text)


def what_the_core_refuses_is_an_error_of_the_core() -> None:
    for url, options, text in [
        ("http://127.0.0.1:1/mcp", {"timeout": 0}, "timeout: it must be above zero"),
        ("ftp://127.0.0.1/", {}, "url: its scheme must be http or https"),
    ]:
        with pytest.raises(oncewire.NotExecutedError, match=text) as raised:
            oncewire.connect_sync(url, **options)  # type: ignore[arg-type]
        assert raised.value.kind == "config"


async def an_option_of_a_call_names_itself_too(scenario: Scenarios) -> None:
    there = scenario()
    async with oncewire.connect(there.url) as client:
        with pytest.raises(TypeError, match="there is no option"):
            await client.call_tool("poke", tiemout=1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="a list takes no option"):
            await client.list_tools(meta={"a": 1})  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="on_progress: must be callable"):
            await client.call_tool("poke", on_progress=3)  # type: ignore[arg-type]
    assert there.executions(name="poke") == 0


async def connecting_does_nothing_until_it_is_awaited(scenario: Scenarios) -> None:
    there = scenario()
    oncewire.connect(there.url)
    assert there.arrivals() == 0
    client = await oncewire.connect(there.url)
    assert there.arrivals(rpc="initialize") == 1
    await client.close()
