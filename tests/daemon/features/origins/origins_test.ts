/** Chains: what began each message, kept through every hop, and what ends it. */

import assert from "node:assert/strict";
import * as ledger from "../../../../daemon/features/messages/ledger/ledger.ts";
import { claudeCodeHooks } from "../../../../daemon/features/agents/hooks/claude_format.ts";
import { ackAsk, getAsk, openAsk } from "protocol/asks/contract.ts";
import { getMessage } from "protocol/messages/log.ts";
import { createSchedule } from "protocol/schedules/contract.ts";
import {
  addPeer,
  ask,
  connectPeer,
  notify,
  post,
  signIn,
} from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { create } from "../../../support/daemon/jobs.ts";
import { laptopAndBuildbox, pass } from "../../../support/machines/memory_network.ts";
import { daemonId, relayWorld, SECRET } from "../../../support/relay/relay_world.ts";
import { framed } from "../../../support/sessions/usage_world.ts";
import { FakeSockets, type World, world } from "../../../support/world.ts";

const SETTINGS = { "human.name": "sam", "breakers.loops": "off" };

/** The chain of an ask or another message: its origin, its name and its root. */
async function chainOf(w: World, id: string) {
  const { chain } = await w.call(getMessage, { params: { id } });
  return chain && [chain.origin, chain.name, chain.root];
}

/** A world at a relay, with the agents api, web and db, and a guest who asks api. */
async function guestWorld(settings: Readonly<Record<string, string>> = {}) {
  const r = relayWorld();
  const w = await r.daemon(1, { settings: { ...SETTINGS, ...settings } });
  const sockets: Record<string, Awaited<ReturnType<typeof connectPeer>>> = {};
  for (const name of ["api", "web", "db"]) {
    sockets[name] = await connectPeer(w, name, { circle: "main" });
  }
  await w.clock.settle();
  const { peers } = await (await w.fetch("/peers")).json();
  const { peer_id } = peers.find(({ name }: { name: string }) => name === "api");
  const body = JSON.stringify({ daemon_id: daemonId(1), peer_id, permissions: "rw" });
  const headers = { authorization: `Bearer ${SECRET}`, "content-type": "application/json" };
  const shared = await r.fetch("/api/v1/shares", { method: "POST", headers, body });
  const { share_id } = await shared.json();
  const text = JSON.stringify({ text: "Please build it" });
  const asked = await r.fetch(`/s/${share_id}/ask`, { method: "POST", body: text });
  const { request_id } = await asked.json();
  await w.clock.settle();
  return {
    w,
    sockets,
    id: String(request_id),
    async [Symbol.asyncDispose]() {
      await w[Symbol.asyncDispose]();
      await r[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a guest's chain passes through an ask, its reply and a notify, and the frames say so [4.origin.guest]", async () => {
  await using at = await guestWorld();
  const { w, id, sockets } = at;
  const [origin, name, root] = await chainOf(w, id) ?? [];
  assert.deepEqual([origin, root], ["guest", id]);
  assert.match(String(name), /^mcp-share-/);
  const second = await ask(w, "api", "web", "Which port?");
  await w.clock.settle();
  assert.deepEqual(await chainOf(w, second), ["guest", name, id]);
  assert.equal(sockets["web"]?.of("ask").at(-1)?.["origin"], "guest");
  const { delivery_id } = await notify(w, "web", "db", "Look");
  await w.clock.settle();
  assert.deepEqual(await chainOf(w, delivery_id), ["guest", name, id]);
  const third = await ask(w, "db", "api", "More?");
  assert.deepEqual(await chainOf(w, third), ["guest", name, id]);
});

Deno.test("a guest's ask that waits for its answer outlasts messages of other agents and unproved programs", async () => {
  await using at = await guestWorld();
  const { w, id } = at;
  await notify(w, "web", "api", "Something else");
  await w.clock.settle();
  assert.equal((await chainOf(w, await ask(w, "api", "db")))?.[0], "guest");
  await notify(w, "a-script", "api", "Begin anew");
  await post(w, "/peers/api/turn", { turn_state: "working", prompt: "Begin anew" });
  assert.equal((await chainOf(w, await ask(w, "api", "db")))?.[0], "guest");
  await w.call(ackAsk, { body: { correlation_id: id, message: "Done", from_peer: "api" } });
  await post(w, "/peers/api/turn", { turn_state: "working", prompt: "Other work" });
  const own = await ask(w, "api", "db");
  assert.deepEqual(await chainOf(w, own), ["peer", "api", own]);
});

Deno.test("a guest's chain passes through a job and a schedule that an agent makes", async () => {
  await using at = await guestWorld();
  const { w, id } = at;
  const body = { from_peer: "api", to_peer: "web", text: "Later", fire_at: "10s" };
  await w.call(createSchedule, { body });
  await create(w, { prompt: "Build", assigned_peer: "db", created_by: "api" });
  for (let second = 0; second < 12; second++) await w.tick();
  const { messages } = await (await w.fetch("/messages")).json();
  const later = messages.filter(({ text }: { text: string }) => /Later|Build/.test(text));
  assert.deepEqual(later.map(({ chain }: { chain: { root: string } }) => chain.root), [id, id]);
});

Deno.test("a person's chain names the terminal, and a schedule of a person begins one of its own", async () => {
  const sockets = new FakeSockets();
  sockets.holders = [77];
  await using w = world({ settings: SETTINGS, at_terminal: true, sockets });
  for (const name of ["api", "web"]) await connectPeer(w, name, { circle: "main" });
  const headers = { "x-mesh-terminal": "77" };
  const body = { from_peer: "sam", to_peer: "api", text: "Build it" };
  const { correlation_id = "" } = await w.call(openAsk, { body, headers });
  await w.clock.settle();
  const { chain } = await w.call(getAsk, { params: { id: String(correlation_id) } });
  assert.deepEqual([chain?.origin, chain?.surface], ["person", "terminal"]);
  assert.equal((await chainOf(w, await ask(w, "api", "web")))?.[2], correlation_id);
  const later = { from_peer: "sam", to_peer: "web", text: "Later", fire_at: "10s" };
  const { schedule_id } = await w.call(createSchedule, { body: later, headers });
  for (let second = 0; second < 12; second++) await w.tick();
  const { messages: [fired] } = await (await w.fetch("/messages?q=Later")).json();
  assert.deepEqual([fired.chain.origin, fired.chain.root], ["schedule", schedule_id]);
});

Deno.test("a person's chain names the dashboard, as the documents call the daemon's page", async () => {
  await using w = world({ settings: SETTINGS });
  await connectPeer(w, "api", { circle: "main" });
  const body = { from_peer: "sam", to_peer: "api", text: "Build it" };
  const { correlation_id = "" } = await w.call(openAsk, { body, headers: await signIn(w) });
  await w.clock.settle();
  const { chain } = await w.call(getAsk, { params: { id: String(correlation_id) } });
  assert.deepEqual([chain?.origin, chain?.surface], ["person", "dashboard"]);
});

Deno.test("a program that proves nothing is unknown, and an agent without a message is the peer itself", async () => {
  await using w = world({ settings: SETTINGS, hooks: { "claude-code": claudeCodeHooks } });
  for (const name of ["api", "web"]) await connectPeer(w, name, { circle: "main" });
  assert.equal((await chainOf(w, await ask(w, "a-script", "api")))?.[0], "unknown");
  await addPeer(w, "db", { circle: "main" });
  assert.equal((await chainOf(w, await ask(w, "db", "web")))?.[0], "unknown");
  await post(w, "/peers/db/turn", { turn_state: "working", prompt: "Tidy up" });
  const own = await ask(w, "db", "web");
  assert.deepEqual(await chainOf(w, own), ["peer", "db", own]);
});

Deno.test("an origin in the sender's body changes nothing, and an app is an app", async () => {
  await using w = world({ settings: SETTINGS });
  await connectPeer(w, "api", { circle: "main" });
  const forged = { chain: { origin: "person" }, origin: { surface: "dashboard", ref: "1" } };
  const id = await ask(w, "mcp-0123456789ab", "api", "Build it", forged);
  assert.equal((await chainOf(w, id))?.[0], "unknown");
  const { origins } = w.daemon;
  const from = { peer_id: null, name: "mcp-0123456789ab" };
  const chain = origins.chainOf({ from, proofs: { via: "relay" }, id: "ask-1" });
  assert.equal(chain.origin, "app");
});

Deno.test("a chain is kept over a crash of the daemon, and by an agent that it started", async () => {
  using state = restartableWorld({ settings: SETTINGS });
  await using w = state.start();
  await connectPeer(w, "api", { circle: "main" });
  await connectPeer(w, "web", { circle: "main" });
  await connectPeer(w, "db", { circle: "main" });
  await notify(w, "api", "web", "Before it belongs to a chain");
  const { ctx, directory, origins } = w.daemon;
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  const { peer_id } = directory.findAnywhere("api");
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
  await post(w, "/peers/api/turn", { turn_state: "working", prompt: "Begin anew" });
  const { delivery_id } = await notify(w, "api", "web", "Look");
  await w.clock.settle();
  assert.equal((await chainOf(w, delivery_id))?.[0], "guest");
  await ask(w, "api", "db", "Which port?");
  await w.clock.settle();
  await using later = state.startFromCrash();
  await connectPeer(later, "web", { circle: "main" });
  await connectPeer(later, "db", { circle: "main" });
  const next = await ask(later, "web", "api", "And now?");
  assert.equal((await chainOf(later, next))?.[0], "guest");
  await notify(later, "a-script", "web", "Begin anew");
  assert.equal((await chainOf(later, await ask(later, "web", "api")))?.[0], "guest");
  // A message of another agent's own work is read last, but an answer is still owed.
  await connectPeer(later, "ci", { circle: "main" });
  await post(later, "/peers/ci/turn", { turn_state: "working", prompt: "Other work" });
  const other = await notify(later, "ci", "db", "Something else");
  assert.equal((await chainOf(later, other.delivery_id))?.[0], "peer");
  await later.clock.settle();
  assert.equal((await chainOf(later, await ask(later, "db", "api")))?.[0], "guest");
});

Deno.test("a chain that comes back from another machine is marked as that machine's word", async () => {
  await using two = await laptopAndBuildbox();
  const { laptop, buildbox, api } = two;
  const { peer_id } = laptop.daemon.directory.findAnywhere("web");
  const guest = { peer_id: null, name: "mcp-share-0123456789ab" };
  laptop.daemon.ctx.db.transact((tx) =>
    laptop.daemon.origins.include(tx, peer_id, guest, { via: "relay" }, undefined)
  );
  const first = await ask(laptop, "web", "api@buildbox", "Build it");
  await pass([laptop, buildbox], 3);
  const id = String(api.of("ask").at(-1)?.correlation_id);
  const { chain } = await buildbox.call(getAsk, { params: { id } });
  assert.deepEqual([chain?.origin, chain?.machine, chain?.reported], [
    "machine",
    "laptop",
    "guest",
  ]);
  assert.equal(api.of("ask").at(-1)?.["origin"], "machine:guest");
  await ask(buildbox, "api", "web@laptop", "Which port?");
  await pass([laptop, buildbox], 3);
  const { messages } = await (await laptop.fetch("/messages?q=port")).json();
  const back = messages[0].chain;
  assert.deepEqual([back.origin, back.machine, back.reported], ["machine", "buildbox", "guest"]);
  assert.equal((await chainOf(laptop, first))?.[0], "guest");
});

Deno.test("an agent cannot leave a guest's ask with the id of a person's message that it read before", async () => {
  const sockets = new FakeSockets();
  sockets.holders = [77];
  const hooks = { "claude-code": claudeCodeHooks };
  await using w = world({ settings: SETTINGS, hooks, at_terminal: true, sockets });
  const { peer_id: web } = await addPeer(w, "web", { circle: "main" });
  await addPeer(w, "api", { backend: "claude-code", circle: "main", runtime_session_id: "s-1" });
  const reads = (prompt: string) =>
    w.post("/hooks/claude-code", {
      session_id: "s-1",
      cwd: "/work",
      hook_event_name: "UserPromptSubmit",
      prompt,
    });
  const asks = async () => {
    const body = { from_peer: "api", to_peer: "web", text: "?" };
    const { correlation_id } = await w.daemon.call(openAsk, { body });
    return (await chainOf(w, String(correlation_id)))?.[0];
  };
  const body = { from_peer: "sam", to_peer: "api", text: "Build it" };
  const headers = { "x-mesh-terminal": "77" };
  const { correlation_id: own } = await w.call(openAsk, { body, headers });
  await reads(framed(String(own)));
  assert.equal(await asks(), "person");
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  const { ctx, delivery, origins } = w.daemon;
  ctx.db.transact((tx) => origins.include(tx, web, from, { via: "relay" }, undefined));
  const guest = await ask(w, "web", "api", "Begin");
  const message = delivery.findMessage(guest);
  ctx.db.transact((tx) => ledger.update(tx, message?.seq ?? 0, { state: "sent" }));
  await reads(framed(guest));
  assert.equal(await asks(), "guest");
  await reads(framed(String(own)));
  assert.equal(await asks(), "guest");
});
