"""An app with the MCP SDK for Python, whose OAuth client does everything by itself."""

import asyncio
import os
from urllib.parse import parse_qsl, urlsplit

import httpx2
from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from steps import expect, opens, revoked, step

URL = os.environ["MCP_URL"]
CALLBACK = "http://127.0.0.1:41874/callback"


class Memory(TokenStorage):
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def provider():
    memory, back = Memory(), {}

    async def redirect(address):
        if back.get("only_once"):
            raise PermissionError("it asks for another login")
        back["url"] = opens(address)

    async def callback():
        return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(back["url"]).query)))

    metadata = OAuthClientMetadata(redirect_uris=[CALLBACK], client_name="Python SDK")
    return OAuthClientProvider(URL, metadata, memory, redirect, callback), memory, back


async def call(auth, name, arguments=None):
    async with httpx2.AsyncClient(auth=auth) as http_client:
        async with streamable_http_client(URL, http_client=http_client) as (read, write, *_):
            async with ClientSession(read, write) as session:
                await session.initialize()
                tools = await session.list_tools()
                expect(len(tools.tools) == 6, "six tools")
                return str(await session.call_tool(name, arguments or {}))


SEND = {"daemon_id": "dm-000000000000", "peer_id": "peer-0", "message": "Hello"}


async def refused(work, what):
    try:
        answer = await asyncio.wait_for(work, 20)
    except BaseException:  # The SDK wraps it in groups.
        return
    raise AssertionError(f"{what}: {answer}")


async def main():
    auth, memory, back = provider()
    with step("login"):
        expect("dm-" in await call(auth, "list_machines"), "a machine")
    with step("tools"):
        expect("unknown_machine" in await call(auth, "send_message", SEND), "unknown_machine")
    with step("refresh"):
        before = memory.tokens.refresh_token
        auth.context.token_expiry_time = 1
        expect("dm-" in await call(auth, "list_machines"), "a machine")
        expect(memory.tokens.refresh_token != before, "another refresh token")
    with step("revocation"):
        revoked()
        back["only_once"] = True
        await refused(call(auth, "list_machines"), "after the revocation")
    auth, memory, back = provider()
    with step("read-only"):
        expect("dm-" in await call(auth, "list_machines"), "a machine")
        expect(memory.tokens.scope == "agents:read", memory.tokens.scope)
        auth.context.token_expiry_time = 1
        expect("dm-" in await call(auth, "list_machines"), "a machine after a refresh")
        back["only_once"] = True
        await refused(call(auth, "send_message", SEND), "a message")


asyncio.run(main())
