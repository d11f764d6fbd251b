"""An app with FastMCP, which listens for the answer of the browser itself."""

import asyncio
import os
import time
from urllib.error import URLError
from urllib.request import urlopen

from fastmcp import Client
from fastmcp.client.auth import OAuth
from steps import expect, opens, revoked, step

URL = os.environ["MCP_URL"]
SEND = {"daemon_id": "dm-000000000000", "peer_id": "peer-0", "message": "Hello"}


class Browser(OAuth):
    only_once = False

    async def redirect_handler(self, authorization_url):
        if self.only_once:
            raise PermissionError("it asks for another login")
        back = await asyncio.to_thread(opens, authorization_url)
        self.visit = asyncio.create_task(asyncio.to_thread(visit, back))


def visit(address):
    """The browser is led to the app, which may begin to listen a moment later."""
    for _ in range(100):
        try:
            return urlopen(address, timeout=10).read()
        except URLError:
            time.sleep(0.1)


async def call(auth, name, arguments=None):
    async with Client(URL, auth=auth) as client:
        expect(len(await client.list_tools()) == 6, "six tools")
        return str(await client.call_tool(name, arguments or {}, raise_on_error=False))


async def refused(work, what):
    try:
        answer = await asyncio.wait_for(work, 30)
    except BaseException:  # The library wraps it.
        return
    raise AssertionError(f"{what}: {answer}")


async def main():
    auth = Browser(URL)
    with step("login"):
        expect("dm-" in await call(auth, "list_machines"), "a machine")
    with step("tools"):
        expect("unknown_machine" in await call(auth, "send_message", SEND), "unknown_machine")
    with step("refresh"):
        before = auth.context.current_tokens.refresh_token
        auth.context.token_expiry_time = 1
        expect("dm-" in await call(auth, "list_machines"), "a machine")
        expect(auth.context.current_tokens.refresh_token != before, "another refresh token")
    with step("revocation"):
        revoked()
        auth.only_once = True
        await refused(call(auth, "list_machines"), "after the revocation")
    with step("read-only"):
        auth = Browser(URL)
        expect("dm-" in await call(auth, "list_machines"), "a machine")
        expect(auth.context.current_tokens.scope == "agents:read", "agents:read only")
        auth.only_once = True
        await refused(call(auth, "send_message", SEND), "a message")


asyncio.run(main())
