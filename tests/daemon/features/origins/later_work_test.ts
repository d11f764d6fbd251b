/** Chains of work that comes later, and of messages that the daemon or a person sends about it. */

import assert from "node:assert/strict";
import { getMessage } from "protocol/messages/log.ts";
import { ask, connectPeer, notify, post } from "../../../support/daemon/peer_clients.ts";
import {
  attemptOf,
  connectWorker,
  create,
  retry,
  update,
  waitForState,
} from "../../../support/daemon/jobs.ts";
import { subscribe, turn } from "../../../support/daemon/schedules.ts";
import {
  answer,
  provingFolder,
  provingPeers,
  ScriptedPrograms,
  waitForProof,
} from "../../../support/daemon/proofs.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { SqliteFaults } from "../../../support/storage/sqlite_faults.ts";
import { type World, world } from "../../../support/world.ts";

const SETTINGS = { "human.name": "sam", "breakers.loops": "off" };
/** More messages than are remembered of a peer. */
const MANY = 20;

/** Marks a peer as started in a guest's chain. */
function startedByGuest({ daemon: { ctx, directory, origins } }: World, name: string): void {
  const from = { peer_id: null, name: "mcp-share-0123456789ab" };
  const { peer_id } = directory.findAnywhere(name);
  ctx.db.transact((tx) => origins.include(tx, peer_id, from, { via: "relay" }, undefined));
}

/** A world in which web has read a message of a guest's chain from api. */
async function readerOf(w: World): Promise<void> {
  for (const name of ["api", "web", "db"]) await connectPeer(w, name, { circle: "main" });
  startedByGuest(w, "api");
  await notify(w, "api", "web", "Look");
  await w.clock.settle();
}

async function originOf(w: World, id: string | undefined) {
  return (await w.call(getMessage, { params: { id: id ?? "" } })).chain?.origin ?? null;
}

const worksFor = async (w: World, peer: string) => originOf(w, await ask(w, peer, "db"));

Deno.test("many messages of unknown origin do not end work that began outside", async () => {
  await using w = world({ settings: SETTINGS });
  await readerOf(w);
  for (let at = 0; at < MANY; at++) await notify(w, "a-script", "web", `Begin anew ${at}`);
  await w.clock.settle();
  assert.equal(await worksFor(w, "web"), "guest");
});

Deno.test("many notices of the daemon change nothing about a peer's work", async () => {
  await using w = world({ settings: SETTINGS });
  await readerOf(w);
  const { notifications, directory } = w.daemon;
  const { peer_id } = directory.findAnywhere("web");
  for (let at = 0; at < MANY; at++) notifications.tryNotifyFromDaemon(peer_id, `Notice ${at}`);
  await w.clock.settle();
  assert.equal(await worksFor(w, "web"), "guest");
});

Deno.test("work that another agent or a person began since ends a guest's notify", async () => {
  await using w = world({ settings: SETTINGS });
  await readerOf(w);
  await post(w, "/peers/db/turn", { turn_state: "working", prompt: "Tidy up" });
  await notify(w, "db", "web", "Other work");
  await notify(w, "a-script", "web", "Hello");
  await w.clock.settle();
  assert.equal(await worksFor(w, "web"), "unknown");
});

Deno.test("a message that a hook could not hand over ends no work", async () => {
  await using w = world({ settings: SETTINGS });
  await readerOf(w);
  await post(w, "/peers/db/turn", { turn_state: "working", prompt: "Tidy up" });
  const { delivery_id } = await notify(w, "db", "api", "Other work");
  const { daemon: { ctx, directory, origins } } = w;
  const { peer_id } = directory.findAnywhere("web");
  const handOver = (then = () => {}) =>
    ctx.db.transact(() => {
      origins.messageHandedOver(peer_id, delivery_id);
      then();
    });
  const fail = () => {
    throw new Error("The disk is full");
  };
  assert.throws(() => handOver(fail), /full/);
  assert.equal(await worksFor(w, "web"), "guest");
  handOver();
  assert.equal(await worksFor(w, "web"), "peer");
});

Deno.test("an ask from outside is still owed if the follow-up that closes it cannot be stored", async () => {
  using faults = new SqliteFaults();
  using state = restartableWorld({ settings: SETTINGS });
  await using before = state.start();
  for (const name of ["api", "web", "db"]) await connectPeer(before, name, { circle: "main" });
  startedByGuest(before, "api");
  const reply_to = await ask(before, "api", "web", "Which port?");
  await post(before, "/peers/db/turn", { turn_state: "working", prompt: "Tidy up" });
  await notify(before, "db", "web", "Other work");
  await before.clock.settle();
  await using w = state.startFromCrash();
  for (const name of ["web", "db"]) await connectPeer(w, name, { circle: "main" });
  await w.clock.settle();
  faults.arm({ fault: "full", at: "commit", after: 0, endsTransaction: true });
  const asked = { from_peer: "web", to_peer: "db", text: "Which one?", reply_to };
  assert.equal((await post(w, "/ask", asked)).error, "storage_failed");
  assert.equal(await worksFor(w, "web"), "guest");
});

Deno.test("after a crash of the daemon, an unknown message still does not end work that began outside", async () => {
  using state = restartableWorld({ settings: SETTINGS });
  await using w = state.start();
  await readerOf(w);
  await notify(w, "a-script", "web", "Begin anew");
  await w.clock.settle();
  await using later = state.startFromCrash();
  await connectPeer(later, "web", { circle: "main" });
  await connectPeer(later, "db", { circle: "main" });
  assert.equal(await worksFor(later, "web"), "guest");
});

Deno.test("a job that is tried again belongs to the chain that made it, also if another agent tries it", async () => {
  await using w = world({ settings: SETTINGS });
  await connectPeer(w, "api", { circle: "main" });
  await connectWorker(w, "web", { circle: "main" });
  startedByGuest(w, "api");
  const prompt = { prompt: "Build", assigned_peer: "web", created_by: "api" };
  const { job_id } = await create(w, prompt);
  await update(w, job_id, { state: "failed", attempt_id: await attemptOf(w, job_id) });
  await waitForState(w, job_id, "failed");
  const [, failed] = (await (await w.fetch("/messages?peer=api")).json()).messages;
  assert.equal(failed?.chain?.origin, "guest", "so does its report");
  await retry(w, job_id);
  await w.clock.settle();
  const { messages } = await (await w.fetch("/messages?q=Build")).json();
  const origins = messages.map(({ chain }: { chain: { origin: string } }) => chain.origin);
  assert.deepEqual(origins, ["guest", "guest"]);
});

Deno.test("the report of a guest's subscription is a guest's", async () => {
  await using w = world({ settings: SETTINGS });
  for (const name of ["api", "web", "db"]) await connectPeer(w, name, { circle: "main" });
  startedByGuest(w, "api");
  await subscribe(w, "peer:web idle", { from_peer: "api" });
  await w.tick();
  await turn(w, "web", "working");
  await w.tick();
  await turn(w, "web", "idle");
  await w.tick();
  const { messages } = await (await w.fetch("/messages?peer=api")).json();
  const [report] = messages;
  assert.equal(report.chain.origin, "guest", JSON.stringify(report));
});

Deno.test("an answer that came back from its check changes nothing about its author's work", async () => {
  using home = await provingFolder();
  const programs = new ScriptedPrograms({ tests: [1] });
  await using w = world({ settings: { ...SETTINGS, ...home.settings }, programs });
  await provingPeers(w, home.folder);
  await connectPeer(w, "db");
  startedByGuest(w, "web");
  const id = await ask(w, "web", "api", "Fix it", { prove: ["tests"] });
  await answer(w, id, "Done");
  await waitForProof(w, id, "returned");
  assert.equal(await worksFor(w, "api"), "guest");
});
