/** Idempotency keys on a route: what is stored, what is refused, what runs again. */

import assert from "node:assert/strict";
import { BackgroundWork } from "kit/core/background.ts";
import fc from "fast-check";
import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { EventLog } from "../../../daemon/data/event_log.ts";
import { jsonLog } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import { type HandlerInput, type Route, route } from "kit/http/route.ts";
import { serve } from "kit/http/serve.ts";
import { Database } from "kit/data/sqlite.ts";
import { canonicalJson } from "kit/core/text.ts";
import { Idempotency } from "../../../daemon/api/idempotency.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { FakeClock } from "../../support/clock.ts";
import { countingIds } from "../../support/ids.ts";

const sayContract = contract({
  id: "test.say",
  method: "POST",
  path: "/say",
  summary: "A test",
  access: "caller",
  tunnel: "never",
  idempotent: true,
  body: z.object({ by: z.string().default("ada"), word: z.string().optional() }),
  returns: z.object({ id: z.number(), state: z.string() }),
});
type SayResponse = z.output<typeof sayContract.returns>;

/** The sender, and an answer that shows when it was made. */
const replay = {
  sender: ({ body }: { body: z.output<typeof sayContract.body> }) => body.by,
  again: (before: SayResponse) => ({ ...before, state: "now" }),
};

function fixture(routesOf: (db: Database) => Route[]) {
  const clock = new FakeClock(), log = jsonLog(clock, "error", () => {});
  const db = new Database(":memory:", migrations, log, clock);
  const events = new EventLog(db, clock, countingIds(), log);
  const background = new BackgroundWork(log);
  const idempotencyStore = new Idempotency({
    db,
    events,
    clock,
    ids: countingIds(),
    log,
    background,
  });
  const fetch = serve(routesOf(db), {
    admit: () => {},
    authorize: () => ({ remote: undefined, human: false, authorized: true, holds_token: false }),
    whenDurable: () => db.whenDurable(),
    idempotencyStore,
    error: (error) => assert.fail(String(error)),
  });
  return {
    db,
    clock,
    async post(body: string | object, key?: string, path = "/say") {
      const response = await fetch(
        new Request(`http://mesh.test${path}`, {
          method: "POST",
          body: typeof body === "string" ? body : JSON.stringify(body),
          headers: key === undefined ? {} : { "idempotency-key": key },
        }),
      );
      const replayed = response.headers.get("idempotent-replay");
      return { status: response.status, replayed, ...await response.json() };
    },
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

/** A verb that may be blocked before its transaction, and that counts its runs. */
function heldWork() {
  const begun: string[] = [];
  let done = 0;
  const held = Promise.withResolvers<void>();
  const work = () => {
    const id = ++done;
    return () => ({ id, state: "then" });
  };
  const heldHandler = async ({ body, commit }: HandlerInput<typeof sayContract>) => {
    begun.push(body.word ?? "");
    await held.promise;
    if (body.word === "bad") throw new Problem("unknown_peer", { peer: "bad" });
    return commit(work);
  };
  return { begun, held, work, heldHandler, done: () => done };
}

Deno.test("while the first request runs, a second with its key is refused, and the verb runs once [c1.idempotency.in-progress]", async () => {
  const s = heldWork();
  using h = fixture(() => [route(sayContract, s.heldHandler, replay)]);
  const first = h.post({ word: "a" }, "k");
  await h.clock.settle();
  for (const body of [{ word: "a" }, { word: "b" }]) {
    const second = await h.post(body, "k");
    assert.deepEqual([second.status, second.error], [409, "idempotency_in_progress"]);
    assert.equal(second.idempotency_key, "k");
  }
  const other = h.post({ word: "a" }, "k2");
  const stranger = h.post({ word: "a", by: "bob" }, "k");
  await h.clock.settle();
  s.held.resolve();
  assert.deepEqual(await first, { status: 200, replayed: null, id: 1, state: "then" });
  assert.deepEqual([(await other).id, (await stranger).id], [2, 3]);
  assert.deepEqual(s.begun, ["a", "a", "a"]);
  assert.deepEqual(await h.post({ word: "a" }, "k"), {
    status: 200,
    replayed: "true",
    id: 1,
    state: "now",
  });
  assert.equal(s.done(), 3);
});

Deno.test("two concurrent requests with one key run once: the second gets the first one's answer", async () => {
  const s = heldWork();
  using h = fixture(() => [route(sayContract, ({ commit }) => commit(s.work), replay)]);
  const both = await Promise.all([h.post({}, "k"), h.post({}, "k")]);
  assert.deepEqual(both.map(({ id, replayed }) => [id, replayed]), [[1, null], [1, "true"]]);
});

Deno.test("a refusal stores nothing, before the transaction or in it: the key may be used again", async () => {
  const s = heldWork();
  let full = true;
  using h = fixture((db) => [
    route(sayContract, ({ body, commit }) =>
      commit(() => {
        db.transact((tx) =>
          tx.run("insert into meta values (:key, 'half done')", { key: body.word ?? "" })
        );
        if (full) throw new Problem("queue_full", { peer_id: "peer-1", waiting: 1 });
        return s.work();
      }), replay),
  ]);
  assert.equal((await h.post({ word: "a" }, "k")).status, 429);
  full = false;
  assert.deepEqual((await h.post({ word: "a" }, "k")).replayed, null);
  assert.deepEqual((await h.post({ word: "a" }, "k")).replayed, "true");
  using later = fixture(() => [route(sayContract, s.heldHandler, replay)]);
  s.held.resolve();
  assert.equal((await later.post({ word: "bad" }, "k")).status, 404);
  assert.deepEqual((await later.post({ word: "good" }, "k")).replayed, null);
});

Deno.test("when the commit fails, the key is lost with the work, and a retry runs it", async () => {
  const s = heldWork();
  let orphan = true;
  using h = fixture((db) => [
    route(sayContract, ({ commit }) =>
      commit(() => {
        db.transact((tx) => tx.run("pragma defer_foreign_keys = on"));
        if (orphan) {
          db.transact((tx) =>
            tx.run(
              `insert into pushes (item_id, surface, status, surface_refs, verified, at)
             values ('inb-none', 's', 'pending', '[]', 0, 0)`,
            )
          );
        }
        return s.work();
      }), replay),
  ]);
  const failed = await Promise.all([h.post({}, "k"), h.post({}, "k")]);
  assert.deepEqual(failed.map(({ error }) => error), ["storage_failed", "storage_failed"]);
  orphan = false;
  const retried = await h.post({}, "k");
  assert.deepEqual([retried.status, retried.id, retried.replayed], [200, 2, null]);
});

Deno.test("a body is the same in any order of its keys, except for other values", async () => {
  const s = heldWork();
  using h = fixture(() => [route(sayContract, ({ commit }) => commit(s.work), replay)]);
  await h.post(`{"by": "ada", "word": "a"}`, "k");
  for (const body of [`{"word":"a","by":"ada"}`, `{"word":"a"}`, `{"word":"a","later":1}`]) {
    assert.equal((await h.post(body, "k")).replayed, "true", body);
  }
  const other = await h.post({ word: "b" }, "k");
  assert.deepEqual([other.status, other.error], [422, "idempotency_mismatch"]);
});

Deno.test("nothing is stored without a key, or on a route that takes none", async () => {
  const s = heldWork();
  const { idempotent: _, ...plain } = { ...sayContract, id: "test.plain", path: "/plain" } as const;
  using h = fixture(() => [
    route(sayContract, ({ commit }) => commit(s.work), replay),
    route(plain, ({ commit }) => commit(s.work)),
  ]);
  assert.deepEqual([(await h.post({})).id, (await h.post({})).id], [1, 2]);
  assert.deepEqual(
    [(await h.post({}, "k", "/plain")).id, (await h.post({}, "k", "/plain")).id],
    [3, 4],
  );
  assert.throws(() => route(sayContract, ({ commit }) => commit(s.work)), /needs a replay/);
});

Deno.test("canonical JSON is equal for equal values, and differs for others", () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).map(([key, part]) => [key, shuffled(part)]);
    return Object.fromEntries(entries.reverse());
  };
  fc.assert(fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
    const plain: unknown = JSON.parse(JSON.stringify(a));
    assert.equal(canonicalJson(shuffled(plain)), canonicalJson(plain));
    assert.deepEqual(JSON.parse(canonicalJson(plain)), plain);
    const [x, y] = [a, b].map((value) => JSON.parse(JSON.stringify(value)));
    if (canonicalJson(x) === canonicalJson(y)) assert.deepEqual(x, y);
  }));
});
