"""One process of `cargo xtask logins` on PyPI mcp: `python python.py login|use URL FOLDER`. It says `ready`, waits for a line, does it, and
says `ok`, `login: why` if a person would have to log in, or `failed: why`.

The provider forgets when a token expires that it reads from its storage, so it would never refresh one: each process would ask for a login.
Here the date is kept beside the tokens, and given back to it."""

import asyncio
import json
import os
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import httpx2
from mcp.client.auth.oauth2 import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

mode, url, folder = sys.argv[1:4]
REDIRECT = "http://127.0.0.1:1234/callback"


class FileStorage:
    """As careful as a file can be written without a lock: whole, or not at all."""

    provider: OAuthClientProvider

    def __init__(self) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.path = Path(folder) / "login.json"

    def read(self) -> dict:
        try:
            return json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}

    def change(self, name: str, value: object) -> None:
        unfinished = self.path.with_suffix("." + secrets.token_hex(8))
        content = self.read() | {name: value}
        with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self.path)

    async def get_tokens(self) -> OAuthToken | None:
        stored = self.read()
        self.provider.context.token_expiry_time = stored.get("expires")
        tokens = stored.get("tokens")
        return tokens and OAuthToken.model_validate(tokens)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.change("tokens", tokens.model_dump(mode="json", exclude_none=True))
        self.change("expires", time.time() + (tokens.expires_in or 0))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        client = self.read().get("client")
        return client and OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.change("client", client_info.model_dump(mode="json", exclude_none=True))


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: object) -> None:
        return None


asked: list[str] = []


async def redirect(to: str) -> None:
    asked.append(to)
    if mode != "login":
        raise RuntimeError("a person would have to log in")


async def callback() -> AuthorizationCodeResult:
    try:
        urllib.request.build_opener(NoRedirect).open(asked[-1])
        raise RuntimeError("there was no redirect")
    except urllib.error.HTTPError as answer:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)
        one = {name: values[0] for name, values in query.items()}
        return AuthorizationCodeResult(code=one["code"], state=one["state"], iss=one.get("iss"))


async def call() -> None:
    metadata = OAuthClientMetadata(
        client_name="logins",
        redirect_uris=[REDIRECT],
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    storage = FileStorage()
    auth = storage.provider = OAuthClientProvider(url, metadata, storage, redirect, callback)
    async with httpx2.AsyncClient(auth=auth, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            result = await client.call_tool("peek", {})
            if result.is_error:
                raise RuntimeError("the tool failed")


def main() -> None:
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        asyncio.run(call())
        print("ok", flush=True)
    except BaseException as error:
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        why = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(f"login: {why}" if asked else f"failed: {why}", flush=True)


main()
