/** A relay that shuts down at any moment logs no error, and answers open requests. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { openDatabase } from "../../../relay/app/database.ts";
import { Relay } from "../../../relay/app/relay.ts";
import { addPeer } from "../../support/daemon/peer_clients.ts";
import { daemonId, NAMESPACE, relayWorld } from "../../support/relay/relay_world.ts";
import { Chance } from "../../support/seeded_random.ts";
import { SwiftClock } from "../../support/swift_clock.ts";
import { UncaughtErrors } from "../../support/uncaught_errors.ts";

const ISSUER = "https://relay.test";
const MOMENTS = 40;
/** A daemon for each takes longer. */
const MACHINE_MOMENTS = 12;
const TURNS_MAX = 25;
const COOKIE = "mesh=a-random-id";
const FORM = { "content-type": "application/x-www-form-urlencoded" };
const CLIENT = JSON.stringify({ redirect_uris: ["http://127.0.0.1/cb"], client_name: "App" });
const CALL = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((done) => setImmediate(done));
}

/** A body that arrives in pieces, over some turns. */
function slow(text: string, chance: Chance): ReadableStream<Uint8Array> {
  const pieces = text.match(/.{1,9}/gs) ?? [];
  return new ReadableStream({
    async pull(controller) {
      await turns(chance.below(6));
      const piece = pieces.shift();
      if (piece === undefined) controller.close();
      else controller.enqueue(new TextEncoder().encode(piece));
    },
  });
}

/** Requests that read or write the database, or wait for a machine. */
function begin(fetch: (request: Request) => Promise<Response>, chance: Chance) {
  const send = (path: string, body?: string, headers: Record<string, string> = {}) => {
    const method = body === undefined ? "GET" : "POST";
    return fetch(
      new Request(`${ISSUER}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: slow(body, chance) }),
      }),
    );
  };
  return chance.pick([
    () => send("/oauth/register", CLIENT),
    () => send("/oauth/token", "grant_type=authorization_code&code=x&client_id=mc_x", FORM),
    () => send("/oauth/revoke", "token=x&client_id=mc_x", FORM),
    () => send("/oauth/authorize?client_id=mc_x&response_type=code"),
    () => send("/.well-known/oauth-authorization-server"),
    () => send("/mcp", CALL, { authorization: "Bearer mt_x" }),
    () => send("/api/v1/register", "{}"),
    () => send("/login", "secret=x", FORM),
    () => send("/health"),
  ])();
}

Deno.test("a relay that shuts down at any moment logs no error, and no promise is left", async () => {
  using uncaught = new UncaughtErrors();
  for (let seed = 0; seed < MOMENTS; seed++) {
    const chance = new Chance(seed), clock = new SwiftClock(), logged: string[] = [];
    const log = jsonLog(clock, "error", (line) => logged.push(line));
    const db = openDatabase(":memory:", ISSUER, { clock, log });
    const relay = new Relay({
      clock,
      log,
      ids: randomIds,
      proxy: { mode: "direct" },
      oauth: { issuer: ISSUER, db },
      accept: () => assert.fail("nobody connects"),
    });
    const begun = Array.from(
      { length: 12 },
      () => begin((request) => relay.fetch(request), chance),
    );
    relay.tick();
    await turns(chance.below(TURNS_MAX));
    // As in the process: the requests that are open get some time, and not all of them end in it.
    relay.shutDown();
    await turns(chance.below(TURNS_MAX));
    await relay[Symbol.asyncDispose]();
    db[Symbol.dispose]();
    const answers = await Promise.all(begun);
    assert.ok(answers.every(({ status }) => status < 500 || status === 503), `seed ${seed}`);
    uncaught.check();
    assert.deepEqual(logged, [], `seed ${seed}`);
  }
});

Deno.test("a relay that shuts down while machines answer, stream and connect logs no error", async () => {
  using uncaught = new UncaughtErrors();
  for (let seed = 0; seed < MACHINE_MOMENTS; seed++) {
    const chance = new Chance(seed), r = relayWorld();
    const w = await r.daemon(1);
    await addPeer(w, "bob");
    r.sessions.set(COOKIE, NAMESPACE);
    const headers = { cookie: COOKIE, "sec-fetch-site": "same-origin" };
    const at = (path: string) => r.fetch(`/m/${daemonId(1)}${path}`, { headers });
    const begun = Array.from({ length: 10 }, () =>
      chance.pick([
        () => at("/peers"),
        () => at("/events/stream"),
        () => at("/peers/bob"),
        () => r.ask(1, "/health"),
        () => r.daemon(2 + chance.below(3)),
      ])());
    const settled = Promise.allSettled(begun);
    await turns(chance.below(TURNS_MAX));
    await r[Symbol.asyncDispose]();
    await turns(TURNS_MAX);
    for (const each of await settled) {
      if (each.status === "rejected") continue;
      if (each.value instanceof Response) await each.value.body?.cancel().catch(() => undefined);
      else await each.value[Symbol.asyncDispose]();
    }
    await w[Symbol.asyncDispose]();
    uncaught.check();
    const errors = [...r.logged, ...w.logged].filter((line) => line.includes('"level":"error"'));
    assert.deepEqual(errors, [], `seed ${seed}`);
  }
});
