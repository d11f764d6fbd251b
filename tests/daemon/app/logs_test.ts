/** The daemon's log: no text of a message, no prompt and no secret is in it, whatever happens. */

import assert from "node:assert/strict";
import type { Adapter } from "../../../daemon/features/agents/adapter.ts";
import { claudeCodeHooks } from "../../../daemon/features/agents/hooks/claude_format.ts";
import { recordingAgent } from "../../support/agents/accepting_adapter.ts";
import { addPeer, connectPeerWithReceipts } from "../../support/daemon/peer_clients.ts";
import { type World, world } from "../../support/world.ts";

const TOKEN = "token-4711-of-the-daemon";
const COLLECTOR_KEY = "key-4712-of-the-collector";
const RELAY_SECRET = `mesh_sk_${"s4713".padEnd(43, "A")}`;
/** Is in every text, prompt, header and unknown field that is sent. */
const TEXT = "words-4714-of-a-message";
const SECRETS = [TOKEN, COLLECTOR_KEY, RELAY_SECRET, TEXT];

const BEARER = { authorization: `Bearer ${TOKEN}` };

/** A body that many routes accept, and others refuse. */
function bodyWith(text: string): Record<string, unknown> {
  return {
    from_peer: "ada",
    to_peer: "bob",
    peer_id: "bob",
    text,
    message: text,
    reason: text,
    description: text,
    title: text,
    request: text,
    prompt: text,
    auth_token: text,
    birth_certificate: text,
    session_id: "s-1",
    hook_event_name: "UserPromptSubmit",
    cwd: "/work",
  };
}

function agentWhoseTransportFails(): Adapter {
  const { adapter } = recordingAgent();
  const transports: Adapter["transports"] = (peer, outgoing) =>
    adapter.transports(peer, outgoing).map((transport) => ({
      ...transport,
      deliver: () => Promise.reject(new TypeError("the connection broke")),
    }));
  return { ...adapter, transports };
}

function loudWorld(): World {
  return world({
    log_level: "debug",
    hooks: { "claude-code": claudeCodeHooks },
    adapters: [agentWhoseTransportFails()],
    settings: {
      "daemon.auth_token": TOKEN,
      "human.name": "sam",
      "relay.enabled": "true",
      "relay.url": "https://relay.test",
      "relay.secret": RELAY_SECRET,
      "telemetry.otlp": "http://127.0.0.1:4318",
      "telemetry.headers": `x-key=${COLLECTOR_KEY}`,
    },
  });
}

/** Calls every route three times: with a body, with one that is no JSON, and without the token. */
async function callEveryRoute(w: World): Promise<void> {
  const headers = { "x-unknown": TEXT, "idempotency-key": TEXT };
  for (const { contract } of w.daemon.routes) {
    const { method, path } = contract;
    if (path === "/events/stream" || path === "/ws") continue;
    const at = path.replaceAll(/:\w+|\*$/g, "bob") + `?text=${TEXT}&timeout_seconds=0`;
    const body = (text: string) => method === "GET" ? {} : { body: text };
    const calls = [
      { ...body(JSON.stringify(bodyWith(TEXT))), headers: { ...headers, ...BEARER } },
      { ...body(`{"text": "${TEXT}`), headers: BEARER },
      { ...body(JSON.stringify(bodyWith(TEXT))), headers: { authorization: `Bearer ${TEXT}` } },
    ];
    for (const call of calls) {
      const response = await w.fetch(at, { method, ...call });
      await response.body?.cancel();
    }
    await w.clock.settle();
  }
}

async function sendEveryFrame(w: World): Promise<void> {
  const bob = await connectPeerWithReceipts(w, "bob", { auth_token: TOKEN });
  for (const type of ["ask", "notify", "ack", "decline", "answer", "status", "chat_turn", TEXT]) {
    await bob.send({ type, request_id: "1", ...bodyWith(TEXT) });
  }
  for (const { delivery_id } of [...bob.of("notify"), ...bob.of("ask")]) {
    await bob.send({ type: "delivery_ack", delivery_id, status: "failed", detail: TEXT });
  }
  await bob.send(`{"type": "notify", "text": "${TEXT}`);
  const stranger = w.socket();
  await stranger.send({ type: "connect", display_name: TEXT, auth_token: TEXT });
}

Deno.test("texts and secrets that are sent everywhere are nowhere in the log", async () => {
  await using w = loudWorld();
  const call = w.daemon.call;
  await addPeer({ ...w, call }, "eve", { backend: "generic" });
  await sendEveryFrame(w);
  await w.post("/notify", { from_peer: "ada", to_peer: "eve", text: TEXT }, BEARER);
  await callEveryRoute(w);
  for (let second = 0; second < 3; second++) await w.tick();
  const log = w.logged.join("\n");
  assert.match(log, /A transport threw an error/);
  assert.match(log, /Not connected to the relay/);
  for (const secret of SECRETS) {
    const line = w.logged.find((line) => line.includes(secret));
    assert.equal(line, undefined);
  }
});

Deno.test("a database that fails logs its error without what was to be stored", async () => {
  await using w = loudWorld();
  await connectPeerWithReceipts(w, "bob", { auth_token: TOKEN });
  w.daemon.ctx.db.transactNow((tx) => tx.run("alter table messages rename to lost"));
  const message = { from_peer: "ada", to_peer: "bob", text: TEXT };
  const response = await w.post("/notify", message, BEARER);
  assert.deepEqual([response.status, (await response.json()).error], [503, "storage_failed"]);
  w.daemon.ctx.db.transactNow((tx) => tx.run("alter table lost rename to messages"));
  assert.match(w.logged.join("\n"), /no such table/);
  for (const secret of SECRETS) assert.doesNotMatch(w.logged.join("\n"), new RegExp(secret));
});
