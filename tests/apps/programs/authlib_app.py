"""An app with Authlib: its OAuth client, and JSON-RPC by httpx."""

import os

import httpx
from authlib.integrations.httpx_client import OAuth2Client
from steps import expect, opens, revoked, step

URL = os.environ["MCP_URL"]
CALLBACK = "http://127.0.0.1:41873/callback"
SCOPE = "agents:read agents:write"


def login():
    challenge = httpx.post(URL, json={}).headers["www-authenticate"]
    resource = httpx.get(challenge.split('resource_metadata="')[1].split('"')[0]).json()
    issuer = resource["authorization_servers"][0]
    server = httpx.get(f"{issuer}/.well-known/oauth-authorization-server").json()
    metadata = {"redirect_uris": [CALLBACK, "authlib-app://callback"], "client_name": "Authlib",
                "token_endpoint_auth_method": "client_secret_basic"}
    client = httpx.post(server["registration_endpoint"], json=metadata).json()
    session = OAuth2Client(client["client_id"], scope=SCOPE, redirect_uri=CALLBACK,
                           token_endpoint_auth_method=client["token_endpoint_auth_method"],
                           code_challenge_method="S256")
    verifier = "v" * 48
    address, _ = session.create_authorization_url(
        server["authorization_endpoint"], code_verifier=verifier, resource=resource["resource"])
    session.fetch_token(server["token_endpoint"], authorization_response=opens(address),
                        code_verifier=verifier)
    return session, server


def call(session, method, params=None):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    headers = {"accept": "application/json, text/event-stream"}
    return session.post(URL, json=message, headers=headers)


def machines(session):
    return call(session, "tools/call", {"name": "list_machines", "arguments": {}})


def send(session):
    message = {"daemon_id": "dm-000000000000", "peer_id": "peer-0", "message": "Hello"}
    return call(session, "tools/call", {"name": "send_message", "arguments": message})


with step("login"):
    session, server = login()
with step("tools"):
    expect(len(call(session, "tools/list").json()["result"]["tools"]) == 6, "six tools")
    expect("dm-" in machines(session).text, "a machine")
with step("refresh"):
    session.refresh_token(server["token_endpoint"])
    expect("dm-" in machines(session).text, "a machine")
with step("revocation"):
    revoked()
    expect(machines(session).status_code == 401, "401 after the revocation")
with step("read-only"):
    session, server = login()
    expect(session.token["scope"] == "agents:read", session.token["scope"])
    # Authlib repeats the requested scope in a refresh, which would widen what was allowed.
    session.scope = session.token["scope"]
    session.refresh_token(server["token_endpoint"])
    expect("dm-" in machines(session).text, "a machine")
    expect(send(session).status_code == 403, "403 for a message")
