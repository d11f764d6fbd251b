/** `POST /command-lines`: runs a command for the calling process, in its name and with its rights. */

import assert from "node:assert/strict";
import { listAsks } from "protocol/asks/contract.ts";
import { EXIT_HEADER, PARTS_HEADER } from "protocol/api/command_lines.ts";
import { runForProcess } from "../../../cli/commands/daemon/served_command.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import {
  FakeProcesses,
  FakeSockets,
  type World,
  world,
  type WorldOptions,
} from "../../support/world.ts";

const TOKEN = "a token of 16 letters";
const ASK = ["ask", "sam", "Which port?"];

/** A world with a command line, a human and the agent `api` with the process 41. */
async function servedWorld(options: WorldOptions = {}) {
  const processes = new FakeProcesses();
  processes.start(41);
  processes.start(42, 41);
  const w = world({
    processes,
    runCommandLine: runForProcess,
    ...options,
    settings: { "human.name": "sam", ...options.settings },
  });
  const headers = { authorization: `Bearer ${TOKEN}` };
  const body = { name: "api", path: "/work", agent_pid: 41, backend: "claude-code" };
  assert.equal((await w.post("/peers", body, headers)).status, 200);
  return w;
}

function send(
  w: World,
  args: readonly string[],
  { headers = {}, body = `TERM=xterm\0\0${args.map((word) => `${word}\0`).join("")}` }: {
    headers?: Record<string, string>;
    body?: string;
  } = {},
): Promise<Response> {
  const all = { "x-mesh-pid": "42", "x-mesh-terminals": "", ...headers };
  return w.fetch("/command-lines", { method: "POST", headers: all, body });
}

/** The sender of each ask, and whether it is proved. */
async function senders(w: World) {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { asks } = await w.call(listAsks, { query: {}, headers });
  return asks.map(({ from_peer_name, unverified }) => [from_peer_name, unverified ?? false]);
}

Deno.test("a command acts as the agent whose process the kernel proves, and as no other", async () => {
  const sockets = new FakeSockets();
  await using w = await servedWorld({ sockets });
  sockets.holders = [42, 41];
  assert.equal((await send(w, ASK)).headers.get(EXIT_HEADER), "0");
  assert.deepEqual(await senders(w), [["api", false]]);
  // Another process names the agent's, and the agent names another peer.
  sockets.holders = [77];
  await send(w, ASK);
  assert.deepEqual((await senders(w))[0], ["cli", false]);
  await addPeer(w, "web", { agent_pid: 43 });
  sockets.holders = [42, 41];
  const refused = await send(w, [...ASK, "--from", "web"]);
  assert.equal(refused.headers.get(EXIT_HEADER), "1");
  assert.match(await refused.text(), /^mesh: .*web/);
  assert.equal((await senders(w)).length, 2);
});

Deno.test("a person's terminal speaks as the human only where the kernel proves it", async () => {
  for (const at_terminal of [true, false]) {
    const sockets = new FakeSockets();
    await using w = await servedWorld({ at_terminal, sockets });
    sockets.holders = [90];
    const headers = { "x-mesh-terminals": "012", "x-mesh-pid": "90", "x-mesh-columns": "80" };
    await send(w, ["ask", "api", "Which port?"], { headers });
    const { asks: [ask] } = await w.call(listAsks, { query: {} });
    const voice = w.daemon.delivery.findMessage(ask?.correlation_id ?? "")?.voice;
    assert.deepEqual([ask?.from_peer_name, voice], ["sam", at_terminal ? "human" : "unverified"]);
  }
});

Deno.test("with a token, only a caller that holds it runs commands", async () => {
  await using w = await servedWorld({ settings: { "daemon.auth_token": TOKEN } });
  assert.equal((await send(w, ASK)).status, 401);
  const headers = { authorization: `Bearer ${TOKEN}` };
  assert.equal((await send(w, ASK, { headers })).status, 200);
  assert.equal((await senders(w)).length, 1);
});

Deno.test("pages, other sites and other hosts run no command", async () => {
  await using w = await servedWorld();
  const page = await send(w, ASK, { headers: { "sec-fetch-site": "same-origin" } });
  assert.equal(page.status, 204);
  const site = await send(w, ASK, { headers: { origin: "https://example.com" } });
  assert.equal(site.status, 403);
  const host = await send(w, ASK, { headers: { host: "example.com" } });
  assert.equal(host.status, 403);
  assert.deepEqual(await senders(w), []);
});

Deno.test("a line that needs a process of its own is not run, nor one of another form", async () => {
  await using w = await servedWorld();
  const lines = [
    ["up"],
    ["inbox"],
    [...ASK, "--wait"],
    [...ASK, "--attach", "/etc/hosts"],
    ["notify", "sam", "-"],
    ["decline", "ask-000000000001", "-"],
    [...ASK, "--verbose"],
    [...ASK, "--machine", "buildbox"],
    ["ask", "--help"],
    ["ask"],
    [],
  ];
  for (const line of lines) assert.equal((await send(w, line)).status, 204, line.join(" "));
  for (const body of ["", "\0", "peers\0", "A=1\0peers\0", "\0peers"]) {
    assert.equal((await send(w, [], { body })).status, 204, JSON.stringify(body));
  }
  const long = await send(w, ["ask", "sam", "x".repeat(300_000)]);
  assert.deepEqual([long.status, await senders(w)], [413, []]);
});

Deno.test("without a command line, the daemon runs none", async () => {
  await using w = world();
  assert.equal((await send(w, ["peers"])).status, 204);
});

Deno.test("the parts of the output are named in order, with their lengths in bytes", async () => {
  await using w = await servedWorld();
  const answer = await send(w, ["notify", "ümlaut", "Hi", "--json"]);
  const bytes = await answer.bytes();
  const parts = (answer.headers.get(PARTS_HEADER) ?? "").split(" ").map((part) => part.split(":"));
  assert.deepEqual(parts.map(([to]) => to), ["1", "2"]);
  assert.equal(parts.reduce((sum, [, length]) => sum + Number(length), 0), bytes.length);
  const text = new TextDecoder();
  const [, [, errors = 0] = []] = parts;
  assert.match(text.decode(bytes.subarray(bytes.length - Number(errors))), /^mesh: .*ümlaut/);
  assert.deepEqual([answer.status, answer.headers.get(EXIT_HEADER)], [200, "1"]);
});
