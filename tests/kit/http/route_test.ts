/** Routes: parsing, responses, refusals and the order of checks (contract 1). */

import assert from "node:assert/strict";
import * as z from "zod";
import { OK, Ok } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { Instant, queryInteger } from "kit/core/schema.ts";
import { jsonLog } from "kit/core/log.ts";
import { Problem } from "protocol/problems.ts";
import { rawRoute, type Route, route, type RouteGuard } from "kit/http/route.ts";
import { serve } from "kit/http/serve.ts";
import { BODY_BYTES_MAX } from "kit/http/body.ts";
import { detached } from "kit/data/request_writes.ts";
import { Database } from "kit/data/sqlite.ts";
import { FakeClock } from "../../support/clock.ts";

const common = { summary: "A test", access: "caller", tunnel: "never" } as const;
const sayContract = contract({
  ...common,
  id: "test.say",
  method: "POST",
  path: "/words/:word",
  params: z.object({ word: z.string() }),
  query: z.object({ times: queryInteger().optional() }),
  body: z.object({
    by: z.string().default("nobody"),
    deep: z.object({ n: z.number() }).optional(),
  }),
  returns: z.object({ said: z.string(), at: Instant }),
});
const bare = { ...common, id: "test.bare", method: "GET", path: "/bare", returns: Ok } as const;
const at = Date.parse("2026-11-20T17:40:00Z");

const said = route(sayContract, ({ params, query, body }) => ({
  said: `${body.by}: ${params.word.repeat(query.times ?? 1)}`,
  at,
}));

function open(routes: Route[], door: Partial<RouteGuard> = {}) {
  const faults: unknown[] = [];
  const fetch = serve(routes, {
    admit: () => {},
    authorize: () => ({ remote: undefined, human: false, authorized: true, holds_token: false }),
    whenDurable: () => undefined,
    error: (error) => faults.push(error),
    ...door,
  });
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(new Request(`http://mesh.test${path}`, init));
    return { status: response.status, headers: response.headers, answer: await response.json() };
  };
  const post = (path: string, body?: BodyInit, headers: Record<string, string> = {}) =>
    ask(path, { method: "POST", headers, ...(body !== undefined && { body }) });
  return { fetch, ask, post, faults };
}

Deno.test("params, query and body are parsed, and an instant is sent as RFC 3339", async () => {
  const { post } = open([said]);
  const { status, answer, headers } = await post("/words/ha?times=2", `{"by": "ada"}`);
  assert.deepEqual([status, answer], [200, { said: "ada: haha", at: "2026-11-20T17:40:00.000Z" }]);
  assert.equal(headers.get("cache-control"), "no-store");
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

Deno.test("an empty body is {}, with any media type [c1.empty-body]", async () => {
  const { post } = open([said]);
  for (const body of [undefined, "", " \n"]) {
    assert.equal((await post("/words/ha", body)).answer.said, "nobody: ha");
  }
  const typed = await post("/words/ha", `{"by": "ada"}`, { "content-type": "image/png" });
  assert.equal(typed.answer.said, "ada: ha");
});

Deno.test("an aborted request body is a 400, not a 500", async () => {
  const { post, faults } = open([said]);
  const broken = new ReadableStream({
    start: (controller) => controller.error(new Error("The caller left")),
  });
  const { status, answer } = await post("/words/ha", broken);
  assert.deepEqual([status, answer.error], [400, "bad_json"]);
  assert.deepEqual(faults, []);
});

Deno.test("an unknown route is a 404, and a wrong method a 405 with Allow [c1.not-found]", async () => {
  const other = route({ ...bare, method: "DELETE" }, () => OK);
  const { ask } = open([route(bare, () => OK), other]);
  const unknown = await ask("/nowhere");
  assert.deepEqual([unknown.status, unknown.answer.error], [404, "not_found"]);
  assert.equal(unknown.headers.get("x-content-type-options"), "nosniff");
  const wrong = await ask("/bare", { method: "PATCH" });
  assert.deepEqual([wrong.status, wrong.answer.error], [405, "method_not_allowed"]);
  assert.equal(wrong.headers.get("allow"), "DELETE, GET, HEAD");
});

Deno.test("a literal path precedes one with a parameter, in any order of routes", async () => {
  const routeAt = (path: `/${string}`) =>
    route({ ...bare, path, returns: z.object({ path: z.string() }) }, () => ({ path }));
  const { ask } = open([routeAt("/asks/:id"), routeAt("/asks/:id/wait"), routeAt("/asks/pending")]);
  for (const path of ["/asks/pending", "/asks/:id", "/asks/:id/wait"]) {
    assert.equal((await ask(path.replace(":id", "ask-1"))).answer.path, path);
  }
});

Deno.test("a literal path with a query, an escape or a slash at its end is served as any other", async () => {
  const query = { query: z.object({ times: queryInteger().optional() }) };
  const times = { ...bare, ...query, returns: z.object({ times: z.number().nullable() }) } as const;
  const { ask } = open([route(times, ({ query }) => ({ times: query.times ?? null }))]);
  assert.deepEqual((await ask("/bare")).answer, { times: null });
  assert.deepEqual((await ask("/bare?")).answer, { times: null });
  assert.deepEqual((await ask("/bare?times=2")).answer, { times: 2 });
  assert.deepEqual((await ask("/b%61re?times=3")).answer, { times: 3 });
  assert.equal((await ask("/bare/")).status, 404);
  assert.equal((await ask("/bare", { method: "DELETE" })).status, 405);
});

Deno.test("a body that is not JSON is a 400 with the reason [c1.bad-json]", async () => {
  const { status, answer } = await open([said]).post("/words/ha", "{by: ada}");
  assert.deepEqual([status, answer.error, typeof answer.reason], [400, "bad_json", "string"]);
});

Deno.test("an invalid request is a 422, and every issue has its path [c1.invalid-request]", async () => {
  const { post } = open([said]);
  const wrong = await post("/words/ha", `{"by": 1, "deep": {"n": "x"}}`);
  assert.deepEqual([wrong.status, wrong.answer.error], [422, "invalid_request"]);
  const paths = wrong.answer.issues.map(({ path }: { path: string }) => path);
  assert.deepEqual(paths, ["by", "deep.n"]);
  assert.match(wrong.answer.detail, /by: .*; deep\.n: /);
  const number = await post("/words/ha?times=many");
  assert.deepEqual([number.status, number.answer.issues[0].path], [422, "times"]);
  for (const body of ["[]", "null", "7"]) assert.equal((await post("/words/a", body)).status, 422);
});

Deno.test("a body of one byte too many is a 413, with or without content-length", async () => {
  const { post } = open([said]);
  const body = (bytes: number) => `{"by":"${"x".repeat(bytes - 9)}"}`;
  const stream = (text: string) => new Blob([text]).stream();
  assert.equal((await post("/words/a", body(BODY_BYTES_MAX))).status, 200);
  assert.equal((await post("/words/a", stream(body(BODY_BYTES_MAX)))).status, 200);
  const long = body(BODY_BYTES_MAX + 1);
  for (const [how, sent] of [["announced", long], ["streamed", stream(long)]] as const) {
    const headers: Record<string, string> = how === "announced"
      ? { "content-length": String(long.length) }
      : {};
    const { status, answer } = await post("/words/a", sent, headers);
    assert.deepEqual([status, answer.error], [413, "body_too_large"], how);
    assert.equal(answer.bytes_max, BODY_BYTES_MAX);
  }
});

Deno.test("a content-length that is too large is refused before the body is read", async () => {
  let read = 0;
  const endless = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull(controller) {
      read++;
      controller.enqueue(new Uint8Array(1024));
    },
  }, { highWaterMark: 0 });
  const headers = { "content-length": String(BODY_BYTES_MAX + 1) };
  assert.equal((await open([said]).post("/words/a", endless, headers)).status, 413);
  assert.equal(read, 0);
});

Deno.test("a field that is not in the response schema is not sent", async () => {
  const leaky = route(bare, () => ({ ...OK, secret: "s3cr3t" }));
  assert.deepEqual((await open([leaky]).ask("/bare")).answer, { ok: true });
});

Deno.test("a response that does not fit its schema is a 500", async () => {
  const { ask, faults } = open([route(bare, () => ({ ok: "s3cr3t" }) as never)]);
  const { status, answer } = await ask("/bare");
  assert.deepEqual([status, answer.error, faults.length], [500, "internal", 1]);
  assert.ok(!JSON.stringify(answer).includes("s3cr3t"));
});

Deno.test("an unexpected error is a 500 without details, and its cause is logged", async () => {
  const cause = new Error("s3cr3t");
  const broken = route(bare, () => {
    throw cause;
  });
  const { ask, faults } = open([broken]);
  const { status, answer } = await ask("/bare");
  assert.deepEqual([status, answer.error, faults], [500, "internal", [cause]]);
  assert.ok(!JSON.stringify(answer).includes("s3cr3t"));
});

Deno.test("a handler that ends with its client's connection is a 499, and no error", async () => {
  const client = new AbortController();
  const waiting = route(bare, ({ signal }) => {
    client.abort();
    signal.throwIfAborted();
    return OK;
  });
  const { fetch, faults } = open([waiting]);
  const request = new Request("http://mesh.test/bare", { signal: client.signal });
  assert.deepEqual([(await fetch(request)).status, faults], [499, []]);
});

Deno.test("the checks are in order: guard, route, token, body", async () => {
  const refuse = (code: "forbidden_host" | "unauthorized") => () => {
    throw new Problem(code, { host: "evil.test" });
  };
  const forbidden = open([said], { admit: refuse("forbidden_host") });
  assert.equal((await forbidden.ask("/nowhere")).status, 403);
  const closed = open([said], { authorize: refuse("unauthorized") });
  assert.equal((await closed.ask("/nowhere")).status, 404);
  assert.equal((await closed.ask("/words/a")).status, 405);
  const denied = await closed.post("/words/a", "not json");
  assert.deepEqual([denied.status, denied.headers.get("www-authenticate")], [401, "Bearer"]);
});

const Total = z.object({ n: z.number() });
const count = contract({ ...bare, id: "test.count", path: "/count", returns: Total });

/** A database behind two routes: one writes, one reads. */
function storedRoutes(reads: () => void = () => {}) {
  const clock = new FakeClock(), log = jsonLog(clock, "error", () => {});
  const tables = [
    `create table t (
      a integer primary key,
      b integer references t (a) deferrable initially deferred
    ) strict`,
  ];
  const db = new Database(":memory:", tables, log, clock);
  const total = () => db.get(Total, "select count(*) as n from t") ?? { n: 0 };
  const write = contract({ ...bare, id: "test.write", method: "POST", body: z.object({}) });
  let durableCalls = 0;
  const written = Promise.withResolvers<void>();
  const fixture = open([
    route(write, () =>
      db.transact((tx) => {
        tx.run("insert into t values (1, 404)");
        db.afterCommit(() => void durableCalls++);
        written.resolve();
        return OK;
      })),
    route(count, () => {
      reads();
      return total();
    }),
  ], { whenDurable: (options) => db.whenDurable(options) });
  return {
    ...fixture,
    db,
    written: written.promise,
    durableCalls: () => durableCalls,
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

Deno.test("a failed commit is a 503 for writers, readers and refusals of the turn", async () => {
  let refuse = false;
  using s = storedRoutes(() => {
    if (refuse) throw new Problem("unknown_ask", { correlation_id: "ask-1" });
  });
  const writing = s.post("/bare", "{}");
  await s.written;
  const reading = s.ask("/count");
  await Promise.resolve();
  refuse = true;
  const refused = s.ask("/count");
  for (const { status, answer } of await Promise.all([writing, reading, refused])) {
    assert.deepEqual([status, answer.error], [503, "storage_failed"]);
  }
  assert.equal(s.durableCalls(), 0);
  refuse = false;
  assert.deepEqual((await s.ask("/count")).answer, { n: 0 });
});

Deno.test("a response function is called after the commit and its effects", async () => {
  using s = storedRoutes();
  const order: string[] = [];
  const later = route(bare, () => {
    s.db.transact(() => s.db.afterCommit(() => order.push("effect")));
    return () => {
      order.push("answer");
      return OK;
    };
  });
  const { ask } = open([later], { whenDurable: (options) => s.db.whenDurable(options) });
  assert.deepEqual([(await ask("/bare")).status, order], [200, ["effect", "answer"]]);
});

Deno.test("a failed commit refuses what commit has stored in it, and no work of an earlier one", async () => {
  using s = storedRoutes();
  const { db } = s;
  const failing = () => void db.transact((tx) => tx.run("insert into t values (2, 404)"));
  const answers = async (work: () => void, later: () => Promise<void>) => {
    const writing = route(bare, async ({ commit }) => {
      await Promise.resolve();
      const answer = commit(() => db.transact(work) ?? OK);
      await later();
      return answer;
    });
    const { ask } = open([writing], { whenDurable: (options) => db.whenDurable(options) });
    return (await ask("/bare")).status;
  };
  const storing = () => void db.transact((tx) => tx.run("insert into t (a) values (1)"));
  assert.equal(await answers(failing, () => Promise.resolve()), 503);
  const othersFail = () => db.whenDurable()?.then(() => detached(failing)) ?? Promise.resolve();
  assert.equal(await answers(storing, othersFail), 200);
  assert.deepEqual((await s.ask("/count")).answer, { n: 1 });
});

/** A route that stores a row in each of its steps; `null` stands for a commit that fails. */
function steps(db: Database, rows: readonly (number | null)[], pause = async () => {}) {
  const writing = route(bare, async () => {
    for (const row of rows) {
      const values = row === null ? "(2, 404)" : `(${row}, null)`;
      db.transact((tx) => tx.run(`insert into t values ${values}`));
      await db.whenDurable()?.catch(() => undefined);
      await pause();
    }
    return OK;
  });
  return open([writing], { whenDurable: () => db.whenDurable() }).ask("/bare");
}

Deno.test("a request whose commit failed while it went on is refused, and says if a part is stored", async () => {
  using s = storedRoutes();
  const answerOf = async (rows: readonly (number | null)[]) => {
    const { status, answer } = await steps(s.db, rows);
    return [status, answer.error];
  };
  assert.deepEqual(await answerOf([null]), [503, "storage_failed"]);
  assert.deepEqual(await answerOf([10, null]), [503, "storage_unclear"]);
  assert.deepEqual(await answerOf([null, 11]), [503, "storage_unclear"]);
  assert.deepEqual(await answerOf([12, 13]), [200, undefined]);
});

Deno.test("a failed commit of another request refuses no request that has stored its own", async () => {
  using s = storedRoutes();
  const failing = Promise.withResolvers<void>();
  const storing = steps(s.db, [10], () => failing.promise);
  await s.db.whenDurable();
  const failed = await steps(s.db, [null]);
  failing.resolve();
  assert.deepEqual([(await storing).status, failed.answer.error], [200, "storage_failed"]);
});

Deno.test("a raw route returns any response, behind the same guard", async () => {
  const raw = rawRoute(bare, (request) => Response.json({ url: request.url }, { status: 201 }));
  assert.equal((await open([raw]).ask("/bare")).status, 201);
  const closed = open([raw], {
    authorize: () => {
      throw new Problem("unauthorized", {});
    },
  });
  assert.equal((await closed.ask("/bare")).status, 401);
});

Deno.test("a literal path and a path with names win over one that ends with an asterisk", async () => {
  const returns = z.object({ found: z.string() });
  const of = (path: `/${string}`) =>
    route({ ...common, id: path, method: "GET", path, returns }, () => ({ found: path }));
  const { ask } = open([of("/m/:id/*"), of("/m/:id/page"), of("/m/:id/page/:name")]);
  const foundAt = async (path: string) => (await ask(path)).answer.found;
  assert.equal(await foundAt("/m/1/page"), "/m/:id/page");
  assert.equal(await foundAt("/m/1/page/x"), "/m/:id/page/:name");
  assert.equal(await foundAt("/m/1/other"), "/m/:id/*");
});
