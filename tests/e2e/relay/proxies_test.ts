/** The relay and a daemon behind nginx and Caddy, with the configurations of docs/proxies.md. */

import assert from "node:assert/strict";
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { OAuthRelay } from "../../support/e2e/oauth_lab.ts";
import {
  freePort,
  isInstalled,
  type ProxyProgram,
  RunningProxy,
} from "../../support/e2e/proxies.ts";
import { until } from "../../support/waiting.ts";

const TOKEN = "a-token-of-the-daemon";
const MEGABYTE = 1_000_000;
const FIRST_EVENT_MS_MAX = 1000;

/** An app's storage. */
class Memory implements OAuthClientProvider {
  readonly redirectUrl = "http://localhost:49152/callback";
  readonly clientMetadata = { redirect_uris: [this.redirectUrl], client_name: "The SDK" };
  address: URL | undefined;
  savedTokens: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = "";
  #discovered: OAuthDiscoveryState | undefined;

  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.savedTokens;
  saveTokens = (tokens: OAuthTokens) => void (this.savedTokens = tokens);
  redirectToAuthorization = (address: URL) => void (this.address = address);
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier);
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (state: OAuthDiscoveryState) => void (this.#discovered = state);
  discoveryState = () => this.#discovered;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Asserts that the first bytes of a stream come within a second, and that the daemon notices when
 * the reader leaves.
 */
async function assertStreams(
  fetch: Fetch,
  url: string,
  headers: Record<string, string>,
  readers: () => Promise<number>,
): Promise<void> {
  const leaving = new AbortController();
  const from = performance.now();
  const response = await fetch(url, { headers, signal: leaving.signal });
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("cache-control"), "no-store, no-transform");
  assert.equal(response.headers.get("content-encoding"), null);
  const reader = response.body?.getReader();
  const { value } = await reader?.read() ?? {};
  const took_ms = performance.now() - from;
  assert.match(new TextDecoder().decode(value), /^event: ready\n/);
  assert.ok(took_ms < FIRST_EVENT_MS_MAX, `The first event took ${took_ms} ms`);
  assert.equal(await readers(), 1);
  leaving.abort();
  await reader?.cancel().catch(() => undefined);
  await until("the daemon to notice that the reader has gone", async () => await readers() === 0);
}

async function assertUploads(
  fetch: Fetch,
  url: string,
  headers: Record<string, string>,
): Promise<void> {
  const bytes = crypto.getRandomValues(new Uint8Array(65_536));
  const form = new FormData();
  form.append("file", new File(Array.from({ length: 20 * MEGABYTE / 65_536 }, () => bytes), "big"));
  const response = await fetch(url, { method: "POST", headers, body: form });
  assert.equal(response.status, 200);
  assert.ok((await response.json()).size > 19 * MEGABYTE);
}

async function assertMcp(fetch: Fetch, relay: OAuthRelay): Promise<void> {
  const authProvider = new Memory();
  const address = new URL(`${relay.issuer}/mcp`);
  const open = () => new StreamableHTTPClientTransport(address, { authProvider, fetch });
  const connect = async () => {
    const client = new Client({ name: "app", version: "1" });
    await client.connect(open());
    return client;
  };
  await assert.rejects(connect(), UnauthorizedError);
  assert.ok(authProvider.address);
  const back = await relay.consent(authProvider.address, {
    fetch: fetch as typeof globalThis.fetch,
  });
  await open().finishAuth(back.searchParams);
  const client = await connect();
  const { structuredContent } = await client.callTool({ name: "list_machines", arguments: {} });
  assert.match(JSON.stringify(structuredContent), new RegExp(relay.daemon.daemon_id));
  await client.close();
}

async function assertSocket(url: string, client: Deno.HttpClient): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<Record<string, unknown>>();
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/ws`, { client });
  socket.onopen = () => {
    const peer = { display_name: "web", backend: "sdk", path: "/work" };
    socket.send(JSON.stringify({ type: "connect", ...peer, auth_token: TOKEN }));
  };
  socket.onmessage = ({ data }) => resolve(JSON.parse(data));
  socket.onerror = (event) => reject(event);
  assert.equal((await promise)["type"], "connected");
  const closed = Promise.withResolvers<void>();
  socket.onclose = () => closed.resolve();
  socket.close();
  await closed.promise;
}

/** Asserts that files and lists arrive compressed once, and that answers with secrets do not. */
async function assertCodings(
  fetch: Fetch,
  { relay, machine, cookie }: { relay: string; machine: string; cookie: string },
): Promise<void> {
  const page = { cookie, "sec-fetch-site": "same-origin", "accept-encoding": "zstd, gzip, br" };
  const read = async (url: string) => {
    const response = await fetch(url, { headers: page });
    assert.equal(response.status, 200, url);
    return { coding: response.headers.get("content-encoding"), text: await response.text() };
  };
  const { coding, text } = await read(`${machine}/dashboard`);
  const [, script = ""] = /src="dashboard(\/assets\/[^"]+)"/.exec(text) ?? [];
  assert.equal(coding, "br");
  const file = await read(`${machine}/dashboard${script}`);
  assert.equal(file.coding, "br");
  assert.match(file.text, /import/);
  const session = await read(`${machine}/dashboard/session`);
  assert.deepEqual([session.coding, typeof JSON.parse(session.text).form_token], [null, "string"]);
  const token = String(JSON.parse(session.text).form_token);
  Object.assign(page, { "x-mesh-form-token": token });
  const peers = await read(`${machine}/peers`);
  assert.deepEqual([peers.coding, JSON.parse(peers.text).peers.length], ["gzip", 3]);
  const machines = await read(`${relay}/dashboard`);
  assert.equal(machines.coding, null);
  assert.ok(machines.text.includes(token), "the page with the token is not compressed");
}

async function readersOf(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const [, count] = /^mesh_event_stream_readers (\d+)/m.exec(await response.text()) ?? [];
  return Number(count);
}

async function addPeer(url: string, display_name: string): Promise<void> {
  const response = await fetch(`${url}/peers`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({ display_name, backend: "sdk", path: "/work" }),
  });
  await response.body?.cancel();
  assert.equal(response.status, 200);
}

async function assertBehind(program: ProxyProgram, isTls: boolean): Promise<void> {
  const upstream = freePort();
  await using proxy = await RunningProxy.start(program, { port: freePort(), upstream, isTls });
  const ca = proxy.authority;
  const caCerts = ca === undefined ? [] : [await Deno.readTextFile(ca)];
  using client = Deno.createHttpClient({ caCerts });
  const through: Fetch = (url, init) => fetch(url, { ...init, client } as RequestInit);
  const env = {
    MESH_DAEMON__AUTH_TOKEN: TOKEN,
    MESH_DAEMON__ALLOWED_HOSTS: '["localhost"]',
    ...(ca !== undefined && { DENO_CERT: ca, NODE_EXTRA_CA_CERTS: ca }),
  };
  await using relay = await OAuthRelay.start({ port: upstream, proxy: proxy.url, env });
  const { daemon_id, url } = relay.daemon;
  const page = {
    cookie: relay.signIn(),
    "sec-fetch-site": "same-origin",
    "accept-encoding": "gzip, br, zstd",
  };
  const machine = `${proxy.url}/m/${daemon_id}`;
  await assertStreams(through, `${machine}/events/stream`, page, () => readersOf(url));
  for (const name of ["api", "web", "db"]) await addPeer(url, name);
  await assertCodings(through, { relay: proxy.url, machine, cookie: page.cookie });
  await assertUploads(through, `${machine}/attachments`, page);
  await assertMcp(through, relay);
  const metrics = await through(`${proxy.url}/metrics`);
  await metrics.body?.cancel();
  assert.equal(metrics.status, 404);

  const port = freePort();
  const own = { port, upstream: Number(new URL(url).port), isTls };
  await using front = await RunningProxy.start(program, own);
  const frontCa = front.authority;
  using frontClient = Deno.createHttpClient({
    caCerts: frontCa === undefined ? [] : [await Deno.readTextFile(frontCa)],
  });
  const throughFront: Fetch = (to, init) =>
    fetch(to, { ...init, client: frontClient } as RequestInit);
  const bearer = { authorization: `Bearer ${TOKEN}` };
  await assertStreams(throughFront, `${front.url}/events/stream`, bearer, () => readersOf(url));
  await assertUploads(throughFront, `${front.url}/attachments`, bearer);
  await assertSocket(front.url, frontClient);
}

for (const program of ["nginx", "caddy"] as const) {
  for (const isTls of [false, true]) {
    Deno.test({
      name: `the relay and a daemon work behind ${program}, ${isTls ? "over TLS" : "without TLS"}`,
      ignore: !isInstalled(program) || Deno.build.os !== "linux",
      fn: () => assertBehind(program, isTls),
    });
  }
}
