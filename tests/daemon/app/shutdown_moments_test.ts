/** A daemon logs no error when it shuts down, at any moment: running work ends first. */

import assert from "node:assert/strict";
import { BackgroundWork } from "kit/core/background.ts";
import { jsonLog } from "kit/core/log.ts";
import type { Adapter } from "../../../daemon/features/agents/adapter.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { Chance } from "../../support/seeded_random.ts";
import { SwiftClock } from "../../support/swift_clock.ts";
import { UncaughtErrors } from "../../support/uncaught_errors.ts";
import { type World, world } from "../../support/world.ts";

const MOMENTS = 60;
const TURNS_MAX = 25;

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((done) => setImmediate(done));
}

/** An agent whose transports and observation take a few turns. */
function slowAgent(chance: Chance): Adapter {
  const later = async <T>(value: T): Promise<T> => (await turns(chance.below(20)), value);
  const transport = {
    name: "native" as const,
    check: () => later({ ready: true as const }),
    deliver: () => later({ state: "accepted" as const }),
  };
  return {
    backend: "generic",
    transports: () => [transport],
    transport: () => "native",
    observe: () => later({ alive: true, turn_state: "idle" as const, source: "registry" }),
  };
}

/** Verbs that read or write the database after they have waited for something. */
function begin(w: World, chance: Chance): Promise<unknown> {
  const text = `Message ${chance.below(1000)}`;
  const to_peer = chance.pick(["bot", "api"]);
  return chance.pick([
    () => w.post("/ask", { from_peer: "web", to_peer, text }),
    () => w.post("/notify", { from_peer: "web", to_peer, text }),
    () => w.post("/broadcast", { from_peer: "web", text }),
    () => w.post("/peers", { name: text.replace(" ", "-"), path: "/work", backend: "sdk" }),
    () => w.fetch("/deliveries?limit=1"),
    () => w.fetch("/peers"),
    () => w.fetch("/events?limit=5"),
    () => w.fetch("/asks?state=closed"),
    () => w.socket().connect({ display_name: "web" }),
    () => w.post("/asks/many", { from_peer: "web", to_peers: ["bot", "api"], text }),
    () => Promise.resolve(w.daemon.tick()),
  ])();
}

Deno.test("a daemon that shuts down at any moment logs no error, and no promise is left", async () => {
  using uncaught = new UncaughtErrors();
  for (let seed = 0; seed < MOMENTS; seed++) {
    const chance = new Chance(seed);
    const w = await world({ adapters: [slowAgent(chance)], log_level: "error" });
    w.processes.start(7);
    await addPeer(w, "bot", { backend: "generic", agent_pid: 7 });
    await addPeer(w, "api");
    const socket = w.socket();
    await socket.connect({ display_name: "web" });
    await w.clock.advance(3000);
    const begun = Array.from({ length: 12 }, () => begin(w, chance));
    w.daemon.tick();
    await turns(chance.below(TURNS_MAX));
    await w[Symbol.asyncDispose]();
    await turns(TURNS_MAX);
    uncaught.check();
    assert.deepEqual(w.logged, [], `seed ${seed}`);
    void Promise.allSettled(begun);
  }
});

Deno.test("work after the database was closed is refused, without an error of the database", async () => {
  const w = await world({ log_level: "error" });
  await w[Symbol.asyncDispose]();
  const { db } = w.daemon.ctx;
  const refused = { code: "shutting_down" };
  assert.throws(() => db.transact(() => undefined), refused);
  assert.throws(() => w.daemon.directory.human(), refused);
  assert.equal((await w.fetch("/health")).status, 503);
  assert.deepEqual(w.logged, []);
});

Deno.test("work that others hold up does not hold up a shutdown, and fails without an error in the log", async () => {
  const clock = new SwiftClock();
  const lines: string[] = [];
  const background = new BackgroundWork(jsonLog(clock, "info", (line) => lines.push(line)));
  const { promise, reject } = Promise.withResolvers<void>();
  const done = background.run("Reading failed", promise);
  void background.run("Writing failed", Promise.reject(new Error("full")));
  let isClosed = false;
  const closing = background.close(clock).then(() => isClosed = true);
  await clock.advance(2999);
  assert.equal(isClosed, false);
  assert.equal(background.size, 1);
  await clock.advance(1);
  await closing;
  reject(new Error("database is not open"));
  await done;
  const logged = lines.map((line) => JSON.parse(line));
  assert.deepEqual(logged.map(({ level, what }) => [level, what]), [
    ["error", "Writing failed"],
    ["info", "Work did not end before the shutdown"],
  ]);
  assert.equal(background.size, 0);
});
