/** Foreign programs against the authorization server: an OAuth library, a browser, the kernel. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as oauth from "oauth4webapi";
import { chromium } from "playwright-core";
import * as z from "zod";
import { Callback, chromiumPath, OAuthRelay, WITHOUT_WINDOW } from "../../support/e2e/oauth_lab.ts";
import { meshArguments } from "../../support/programs/program.ts";

const OPTIONS = { [oauth.allowInsecureRequests]: true };
const READ_SCOPE = "agents:read";
const ALL_SCOPES = "agents:read agents:write";

/** State of the library's client while it connects. */
interface PendingConnection {
  readonly as: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly resource: string;
  readonly redirect_uri: string;
  readonly code_verifier: string;
  readonly state: string;
  readonly address: URL;
}

/** From the address of the MCP server alone to the address for the browser. */
async function startConnection(
  relay: OAuthRelay,
  redirect_uri: string,
): Promise<PendingConnection> {
  const resource = new URL(`${relay.issuer}/mcp`);
  const described = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, OPTIONS),
  );
  const issuer = new URL(described.authorization_servers?.[0] ?? "");
  const discovery = { ...OPTIONS, algorithm: "oauth2" as const };
  const as = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, discovery),
  );
  const asked = { redirect_uris: [redirect_uri], client_name: "A foreign app" };
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      { ...asked, token_endpoint_auth_method: "none" },
      OPTIONS,
    ),
  );
  const code_verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const address = new URL(as.authorization_endpoint ?? "");
  address.search = new URLSearchParams({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri,
    scope: ALL_SCOPES,
    state,
    resource: resource.href,
    code_challenge: await oauth.calculatePKCECodeChallenge(code_verifier),
    code_challenge_method: "S256",
  }).toString();
  return { as, client, resource: resource.href, redirect_uri, code_verifier, state, address };
}

async function redeem(c: PendingConnection, callback: URL): Promise<oauth.TokenEndpointResponse> {
  const params = oauth.validateAuthResponse(c.as, c.client, callback, c.state);
  const response = await oauth.authorizationCodeGrantRequest(
    c.as,
    c.client,
    oauth.None(),
    params,
    c.redirect_uri,
    c.code_verifier,
    { ...OPTIONS, additionalParameters: { resource: c.resource } },
  );
  return await oauth.processAuthorizationCodeResponse(c.as, c.client, response);
}

async function refresh(c: PendingConnection, token: string, scope?: string) {
  const additionalParameters = { resource: c.resource, ...(scope && { scope }) };
  const response = await oauth.refreshTokenGrantRequest(c.as, c.client, oauth.None(), token, {
    ...OPTIONS,
    additionalParameters,
  });
  return await oauth.processRefreshTokenResponse(c.as, c.client, response);
}

/** The six tools as an app calls them, by the protocol's own client. */
async function toolsOf(relay: OAuthRelay, access_token: string) {
  const client = new Client({ name: "app", version: "1" });
  const headers = { authorization: `Bearer ${access_token}` };
  const address = new URL(`${relay.issuer}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(address, { requestInit: { headers } }));
  return {
    async call(name: string, given: Record<string, unknown> = {}) {
      const { structuredContent } = await client.callTool({ name, arguments: given });
      return z.record(z.string(), z.unknown()).parse(structuredContent);
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function post(url: string, body: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 200, await answer.clone().text());
  return await answer.json();
}

const invalidGrant = { name: "ResponseBodyError", error: "invalid_grant" };

Deno.test("a foreign client discovers, registers, connects, refreshes, narrows and revokes [4.oauth.foreign]", async () => {
  await using relay = await OAuthRelay.start();
  const c = await startConnection(relay, "http://127.0.0.1:49152/callback/x");
  const first = await redeem(c, await relay.consent(c.address));
  assert.equal(first.scope, ALL_SCOPES);
  assert.equal(first.expires_in, 900);
  const second = await refresh(c, first.refresh_token ?? "");
  const third = await refresh(c, second.refresh_token ?? "", READ_SCOPE);
  assert.equal(third.scope, READ_SCOPE);
  await assert.rejects(refresh(c, third.refresh_token ?? "", ALL_SCOPES), {
    name: "ResponseBodyError",
    error: "invalid_scope",
  });
  const fourth = await refresh(c, third.refresh_token ?? "");
  const revoked = await oauth.revocationRequest(
    c.as,
    c.client,
    oauth.None(),
    fourth.refresh_token ?? "",
    OPTIONS,
  );
  assert.equal(await oauth.processRevocationResponse(revoked), undefined);
  await assert.rejects(refresh(c, fourth.refresh_token ?? ""), invalidGrant);
  assert.ok(relay.logged.every((line) => !line.includes("mesh_")));
});

Deno.test("a connected app works with an agent, and only with its own requests [5.oauth.identity] [4.oauth.foreign]", async () => {
  await using relay = await OAuthRelay.start();
  const { url, daemon_id } = relay.daemon;
  const { peer_id } = await post(`${url}/peers`, { name: "api", path: "/work", backend: "sdk" });
  const c = await startConnection(relay, "http://127.0.0.1:49152/callback");
  const first = await redeem(c, await relay.consent(c.address));
  await using app = await toolsOf(relay, first.access_token);
  const { machines } = await app.call("list_machines");
  assert.deepEqual(z.array(z.object({ daemon_id: z.string() })).parse(machines), [{ daemon_id }]);
  const { agents } = await app.call("list_agents", { daemon_id });
  assert.deepEqual(z.array(z.object({ peer_id: z.string() })).parse(agents), [{ peer_id }]);
  const asked = await app.call("ask_agent", { daemon_id, peer_id, message: "What is 6 times 7?" });
  assert.equal(asked.status, "pending");
  const { request_id } = asked;
  const { requests } = await app.call("list_requests", { daemon_id });
  assert.deepEqual(z.array(z.object({ request_id: z.string() })).parse(requests), [{ request_id }]);
  await post(`${url}/ack`, { correlation_id: request_id, message: "42", from_peer: peer_id });
  await app.call("send_message", { daemon_id, peer_id, message: "Thanks" });
  const second = await refresh(c, first.refresh_token ?? "");
  await using later = await toolsOf(relay, second.access_token);
  const replied = await later.call("get_reply", { daemon_id, request_id });
  assert.equal(replied.reply, "42");
  const stranger = await startConnection(relay, "http://127.0.0.1:49153/callback");
  const another = await redeem(stranger, await relay.consent(stranger.address));
  await using other = await toolsOf(relay, another.access_token);
  const unknown = await other.call("get_reply", { daemon_id, request_id });
  assert.equal(unknown.error, "unknown_request");
  await oauth.revocationRequest(c.as, c.client, oauth.None(), second.refresh_token ?? "", OPTIONS);
  await assert.rejects(later.call("list_machines"), /401|nauthorized|invalid_token/);
  assert.ok(relay.logged.every((line) => !/mesh_(sk|at|rt|ac)_/.test(line)));
});

Deno.test("a foreign client that replays a refresh token has lost its grant [5.oauth.refresh.reuse]", async () => {
  await using relay = await OAuthRelay.start();
  const c = await startConnection(relay, "http://localhost:49152/callback");
  const first = await redeem(c, await relay.consent(c.address));
  const second = await refresh(c, first.refresh_token ?? "");
  await assert.rejects(refresh(c, first.refresh_token ?? ""), invalidGrant);
  await assert.rejects(refresh(c, second.refresh_token ?? ""), invalidGrant);
});

Deno.test("a person connects an app, and revokes it, in a real browser [5.oauth.consent]", async () => {
  const executablePath = await chromiumPath(WITHOUT_WINDOW);
  if (!executablePath) {
    const line =
      "skipped: the consent in a real browser (no Chromium; install the package chromium)";
    Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
    return;
  }
  await using relay = await OAuthRelay.start();
  await using callback = new Callback("/callback/app");
  const c = await startConnection(relay, callback.url);
  const browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"],
  });
  try {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    const refused: string[] = [];
    page.on("console", (message) => refused.push(message.text()));
    await page.goto(c.address.href);
    await page.getByLabel("Relay secret, as your daemon has it").fill(`mesh_sk_${"x".repeat(43)}`);
    await page.getByRole("button", { name: "Allow" }).click();
    await page.getByRole("alert").filter({ hasText: "No machine with this relay secret" })
      .waitFor();
    await page.getByLabel("Relay secret, as your daemon has it").fill(relay.secret);
    await page.getByRole("button", { name: "Allow" }).click();
    const tokens = await redeem(c, await callback.called);
    await page.getByRole("heading", { name: "Back in the app" }).waitFor();
    assert.equal(tokens.scope, ALL_SCOPES);
    await page.goto(`${relay.issuer}/`);
    await page.getByLabel("Relay secret").fill(relay.secret);
    await page.getByRole("button", { name: "Sign in" }).click();
    // The login leads to the machines; the test needs only that the browser is signed in.
    await page.goto(`${relay.issuer}/oauth/connections`);
    await page.getByRole("button", { name: "Revoke A foreign app" }).click();
    await page.getByText("No app is connected.").waitFor();
    await assert.rejects(refresh(c, tokens.refresh_token ?? ""), invalidGrant);
    const failures = refused.filter((text) => /Content Security Policy|blocked/i.test(text));
    assert.deepEqual(failures, []);
  } finally {
    await browser.close();
  }
});

/** The relay as a process; resolves with its output once it listens or has ended. */
async function relayProcess(env: Record<string, string>) {
  const child = new Deno.Command(Deno.execPath(), {
    args: meshArguments(["relay"]),
    env: { ...env, RELAY_PORT: "0" },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let output = "";
  const decoder = new TextDecoder();
  const reader = child.stderr.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    output += decoder.decode(value, { stream: true });
    if (output.includes("The relay listens")) break;
  }
  return {
    output,
    url: /"url":"([^"]+)"/.exec(output)?.[1],
    async end(signal: Deno.Signal): Promise<number> {
      if (output.includes("The relay listens")) child.kill(signal);
      while (!(await reader.read()).done);
      return (await child.status).code;
    },
  };
}

Deno.test("a second relay on the same database refuses to start until the first is gone [8.relay.replica]", async () => {
  const dir = await Deno.makeTempDir({ prefix: "mesh-oauth-" });
  try {
    const env = {
      RELAY_OAUTH_ISSUER: "https://relay.example.com",
      RELAY_OAUTH_DB: join(dir, "oauth.db"),
    };
    const first = await relayProcess(env);
    assert.ok(first.url, first.output);
    const health = await (await fetch(`${first.url}/health`)).json();
    assert.equal(health.oauth, "enabled");
    const second = await relayProcess(env);
    assert.match(second.output, /another relay uses it; only one replica may run with OAuth/);
    assert.equal(await second.end("SIGTERM"), 2);
    await first.end("SIGKILL");
    const third = await relayProcess(env);
    assert.ok(third.url, third.output);
    assert.equal(await third.end("SIGTERM"), 0);
    const other = await relayProcess({ ...env, RELAY_OAUTH_ISSUER: "https://other.example.com" });
    assert.match(other.output, /belongs to the issuer https:\/\/relay\.example\.com/);
    assert.equal(await other.end("SIGTERM"), 2);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});
