/** A statement fails during a request of several transactions: the answer says what is stored. */

import assert from "node:assert/strict";
import * as z from "zod";
import { addPeer, connectPeer, post } from "../../support/daemon/peer_clients.ts";
import { agentInPane } from "../../support/daemon/restarts.ts";
import { spawningWorld } from "../../support/daemon/spawns.ts";
import { sleepingWorld } from "../../support/daemon/wakes.ts";
import { type ArmedFault, SqliteFaults } from "../../support/storage/sqlite_faults.ts";
import { type World, world } from "../../support/world.ts";

const TABLES = ["peers", "messages", "events", "held_asks", "wakes", "spawns", "restarts"];

/** The answer to a request. */
type Answer = Awaited<ReturnType<typeof post>>;

/** A world, a request, and what happens while it is handled. */
interface Fixture extends AsyncDisposable {
  readonly w: World;
  send(): Promise<Answer>;
  meanwhile?(): Promise<void>;
  /** Checks of the state after the answer. */
  check?(answer: Answer): Promise<void> | void;
}

function rowsOf({ daemon: { ctx: { db } } }: World): string {
  return JSON.stringify(TABLES.map((name) => db.all(z.unknown(), `select * from ${name}`)));
}

/** Sends the request while one statement fails; returns its outcome, and if a statement failed. */
async function outcomeOf(fixture: Fixture, at: ArmedFault["at"], after: number) {
  using faults = new SqliteFaults();
  const { w } = fixture;
  await w.tick();
  const before = rowsOf(w);
  faults.arm({ fault: "io_error", at, after, endsTransaction: false });
  const sent = fixture.send();
  await w.clock.settle();
  await fixture.meanwhile?.();
  const answer = await sent;
  await w.clock.settle();
  faults.disarm();
  const isStored = rowsOf(w) !== before;
  const which = `${at} ${after}: ${JSON.stringify(answer)}`;
  if (answer.status === 200) assert.ok(isStored, `${which}, but nothing is stored`);
  if (answer.error === "storage_failed") assert.ok(!isStored, `${which}, but a part is stored`);
  await fixture.check?.(answer);
  return { outcome: answer.status === 200 ? "done" : answer.error, hit: faults.hit };
}

/** Lets each `step`th statement and each commit fail. Returns the outcomes of the request. */
async function outcomes(
  make: () => Promise<Fixture>,
  { step = 1 }: { readonly step?: number } = {},
): Promise<string[]> {
  const found = new Set<string>();
  for (const at of ["any", "commit"] as const) {
    for (let after = 0, hit = true; hit; after += at === "any" ? step : 1) {
      await using fixture = await make();
      const now = await outcomeOf(fixture, at, after);
      found.add(now.outcome);
      hit = now.hit;
    }
  }
  return [...found].sort();
}

/** A query to a peer that answers at once, or not at all. */
async function query(answers: boolean): Promise<Fixture> {
  const w = world();
  await addPeer(w, "web");
  const api = await connectPeer(w, "api");
  const body = { from_peer: "web", to_peer: "api", text: "Ready?", timeout_seconds: 5 };
  let answered: Answer | undefined;
  return {
    w,
    async send() {
      const response = await w.post("/query", body);
      return { ...await response.json(), status: response.status };
    },
    async meanwhile() {
      const correlation_id = api.of("ask")[0]?.correlation_id;
      const ack = { correlation_id, message: "Yes" };
      if (answers && correlation_id) answered = await post(w, "/ack", ack);
      await w.clock.advance(6000);
    },
    async check({ status, text, error, id }) {
      if (answered?.status === 200 && status === 200) assert.equal(text, "Yes");
      await w.tick();
      const { asks } = await (await w.fetch("/asks?state=open")).json();
      assert.deepEqual(asks, [], "an ask whose caller has left stays open");
      if (error !== "stored_then_failed") return;
      assert.equal((await w.fetch(`/asks/${id}`)).status, 200);
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

Deno.test("whichever statement of a query fails: its ask is named if it is stored, and is closed in the end", async () => {
  const known = ["done", "internal", "storage_failed", "stored_then_failed"];
  assert.deepEqual(await outcomes(() => query(false)), known);
  assert.deepEqual(await outcomes(() => query(true)), known);
});

async function wake(): Promise<Fixture> {
  const fixture = await sleepingWorld({ settings: { "daemon.wake": "never" } });
  const { w, terminals } = fixture;
  return {
    w,
    send: () => post(w, "/peers/api/wake"),
    async check({ error }) {
      if (error !== "stored_then_failed") return;
      for (let tick = 0; tick < 5; tick++) await w.tick();
      assert.equal(terminals.panes.size, 1, "a stored wake goes on, in one pane");
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

Deno.test("whichever statement of a wake fails: a wake that is stored is reported, and goes on", async () => {
  const known = ["done", "internal", "storage_failed", "stored_then_failed"];
  assert.deepEqual(await outcomes(wake, { step: 3 }), known);
});

async function spawn(): Promise<Fixture> {
  const fixture = await spawningWorld();
  const { w, folder, terminals } = fixture;
  return {
    w,
    send: () => post(w, "/spawn", { path: folder, backend: "codex" }),
    check: ({ status }) => assert.equal(terminals.panes.size, status === 200 ? 1 : 0),
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

Deno.test("whichever statement of a spawn fails: an agent that is not stored is not left running", async () => {
  assert.deepEqual(await outcomes(spawn), ["done", "internal", "storage_failed"]);
});

async function restart(): Promise<Fixture> {
  const fixture = await spawningWorld();
  const { w } = fixture;
  await agentInPane(fixture);
  return {
    w,
    send: () => post(w, "/peers/api/restart", { wait: true }),
    meanwhile: () => w.clock.advance(90_000),
    async check({ status, restart_id }) {
      await w.tick();
      const last = await (await w.fetch("/peers/api/restart")).json();
      if (status === 200) assert.equal(last.restart_id, restart_id);
      assert.notEqual(last.outcome, "in_progress", "a restart that is over stays open");
    },
    [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose](),
  };
}

Deno.test("whichever statement of a restart fails: no restart is reported that is not stored", async () => {
  const known = ["done", "internal", "storage_failed"];
  assert.deepEqual(await outcomes(restart, { step: 7 }), known);
});

async function register(): Promise<Fixture> {
  const w = world();
  await addPeer(w, "web");
  return {
    w,
    send: () => post(w, "/peers", { name: "api", path: "/work", backend: "sdk" }),
    async check({ status }) {
      const { peers } = await (await w.fetch("/peers")).json();
      assert.equal(peers.length, status === 200 ? 2 : 1);
    },
    [Symbol.asyncDispose]: () => w[Symbol.asyncDispose](),
  };
}

Deno.test("whichever statement of a registration fails: a certificate is given only to a stored peer", async () => {
  const found = await outcomes(register);
  assert.ok(found.includes("storage_failed") && found.includes("done"), found.join());
});
