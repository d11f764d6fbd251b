/** Failures of the OAuth database at each step: nothing is issued, lost or allowed. */

import assert from "node:assert/strict";
import { DAY_MS } from "kit/core/duration.ts";
import * as z from "zod";
import type { Database } from "kit/data/sqlite.ts";
import { relayMigrations } from "../../../relay/app/database.ts";
import { BEARER } from "../../../relay/oauth/grant_store.ts";
import * as rows from "../../../relay/oauth/grant_store.ts";
import { digestOf } from "../../../relay/web/secrets.ts";
import {
  App,
  countRows,
  hiddenField,
  oauthError,
  type OAuthWorld,
  oauthWorld,
  parseTokens,
  Person,
  SECRET,
  tokenService,
} from "../../support/relay/oauth_world.ts";

const TABLES = relayMigrations.flatMap((sql) => [...sql.matchAll(/create table (\w+)/g)])
  .map(([, table = ""]) => table);

/** All rows of all tables as a text. */
function databaseDump(db: Database): string {
  const Any = z.record(z.string(), z.unknown());
  return JSON.stringify(TABLES.map((table) => db.all(Any, `select * from ${table} order by 1`)));
}

/** Makes statements of this kind fail until it is disposed. */
function failStatements(
  db: Database,
  on: string,
  table: string,
  how: "statement" | "commit",
): Disposable {
  const raise = "select raise(abort, 'the disk is gone')";
  const orphan = "insert into orphans values (1)";
  db.transact((tx) => tx.run(`create table if not exists parents (id integer primary key)`));
  db.transact((tx) =>
    tx.run(
      `create table if not exists orphans
       (id integer references parents deferrable initially deferred)`,
    )
  );
  const work = how === "statement" ? raise : orphan;
  db.transact((tx) => tx.run(`create trigger failing before ${on} on ${table} begin ${work}; end`));
  return { [Symbol.dispose]: () => void db.transact((tx) => tx.run("drop trigger failing")) };
}

interface ActionContext {
  readonly w: OAuthWorld;
  readonly app: App;
  readonly person: Person;
}

/** The requests under test. Each returns its response. */
type Action = (context: ActionContext) => Promise<() => Promise<Response>>;

const ACTIONS: Readonly<Record<string, Action>> = {
  register: ({ w }) =>
    Promise.resolve(() =>
      w.postJson("/oauth/register", { redirect_uris: ["https://app.example.net/x"] })
    ),
  consent: async ({ app, person }) => {
    const request = await person.formFor(app);
    return () => person.decide(request, "allow", SECRET);
  },
  exchange: async ({ app, person }) => {
    const code = (await person.allow(app)).searchParams.get("code") ?? "";
    return () => app.redeem(code);
  },
  refresh: async ({ app }) => {
    const { refresh_token } = await app.connect();
    return () => app.refresh(refresh_token);
  },
  revoke: async ({ app }) => {
    const { refresh_token } = await app.connect();
    return () => app.revoke(refresh_token);
  },
  revoke_access: async ({ app }) => {
    const { access_token } = await app.connect();
    return () => app.revoke(access_token);
  },
  disconnect: async ({ app, person }) => {
    await app.connect();
    await person.signIn();
    const text = await (await person.visit("/oauth/connections")).text();
    const [, grant_id] = /name="grant_id" value="([^"]+)"/.exec(text) ?? [];
    const form_token = hiddenField(text, "form_token");
    return () => person.submit("/oauth/connections", { grant_id, form_token });
  },
};

/** Each write of each request. */
// deno-fmt-ignore
const WRITES: readonly [action: string, on: string, table: string][] = [
  ["register",      "insert", "oauth_clients"],
  ["consent",       "insert", "oauth_spent_forms"],
  ["consent",       "insert", "oauth_grants"],
  ["consent",       "insert", "oauth_codes"],
  ["exchange",      "update", "oauth_codes"],
  ["exchange",      "update", "oauth_grants"],
  ["exchange",      "insert", "oauth_refresh_tokens"],
  ["exchange",      "insert", "oauth_access_tokens"],
  ["exchange",      "update", "oauth_clients"],
  ["refresh",       "update", "oauth_refresh_tokens"],
  ["refresh",       "update", "oauth_grants"],
  ["refresh",       "insert", "oauth_refresh_tokens"],
  ["refresh",       "insert", "oauth_access_tokens"],
  ["refresh",       "update", "oauth_clients"],
  ["revoke",        "update", "oauth_grants"],
  ["revoke_access", "delete", "oauth_access_tokens"],
  ["disconnect",    "update", "oauth_grants"],
];

for (const [name, on, table] of WRITES) {
  for (const how of ["statement", "commit"] as const) {
    const place = how === "commit" ? `a commit with ${on} of ${table}` : `${on} of ${table}`;
    Deno.test(`${name}: if ${place} fails, nothing is changed, and a retry succeeds [7.relay.database] [5.oauth.fail-closed]`, async () => {
      using w = oauthWorld();
      const person = new Person(w);
      const action = await ACTIONS[name]?.({ w, person, app: await App.register(w) });
      assert.ok(action);
      const before = databaseDump(w.db);
      {
        using _broken = failStatements(w.db, on, table, how);
        const response = await action();
        assert.equal(response.status, 503);
        assert.equal(response.headers.get("location"), null);
        assert.equal(response.headers.get("cache-control"), "no-store");
        const text = await response.text();
        assert.ok(!/mesh_|disk is gone/.test(text.replaceAll(SECRET, "")), text);
        assert.equal(databaseDump(w.db), before);
      }
      const again = await action();
      assert.ok([200, 201, 303].includes(again.status), `${again.status}`);
      assert.notEqual(databaseDump(w.db), before);
      assert.ok(w.logged.some((line) => line.includes("An OAuth request failed")));
    });
  }
}

Deno.test("a failure of the database is temporarily_unavailable in the RFC's format", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { refresh_token } = await app.connect();
  using _broken = failStatements(w.db, "update", "oauth_grants", "statement");
  assert.deepEqual(await oauthError(await app.refresh(refresh_token)), [
    503,
    "temporarily_unavailable",
  ]);
});

Deno.test("a replay that cannot be stored issues nothing, and is a replay again [5.oauth.fail-closed]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const first = await app.connect();
  const second = await parseTokens(await app.refresh(first.refresh_token));
  {
    using _broken = failStatements(w.db, "update", "oauth_grants", "statement");
    assert.equal((await app.refresh(first.refresh_token)).status, 503);
  }
  assert.equal((await app.refresh(first.refresh_token)).status, 400);
  assert.equal(rows.bearer(w.db, digestOf(second.access_token), w.clock.now()), undefined);
});

Deno.test("if the database cannot be read, every request is refused, and not as unknown_client [5.oauth.fail-closed]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { access_token, refresh_token } = await app.connect();
  const { check } = tokenService(w);
  const code = (await new Person(w).allow(app)).searchParams.get("code") ?? "";
  for (const table of TABLES.filter((table) => table !== "oauth_issuer")) {
    w.db.transact((tx) => tx.run(`alter table ${table} rename to gone`));
    const reads = ["oauth_grants", "oauth_access_tokens"].includes(table);
    if (reads) assert.throws(() => check(access_token), { code: "storage_failed" });
    w.db.transact((tx) => tx.run(`alter table gone rename to ${table}`));
  }
  assert.ok(check(access_token));
  w.db.transact((tx) => tx.run("alter table oauth_clients rename to gone"));
  for (const response of [await app.refresh(refresh_token), await app.redeem(code)]) {
    assert.deepEqual(await oauthError(response), [503, "temporarily_unavailable"]);
  }
  const page = await new Person(w).visit(app.authorizePath());
  assert.equal(page.status, 503);
  assert.equal(page.headers.get("location"), null);
});

Deno.test("a token check writes nothing [8.relay.cleanup]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const { access_token } = await app.connect();
  for (const table of TABLES) {
    for (const on of ["insert", "update", "delete"]) {
      w.db.transact((tx) =>
        tx.run(
          `create trigger no_${on}_${table} before ${on} on ${table}
         begin select raise(abort, 'read only'); end`,
        )
      );
    }
  }
  assert.equal(
    (await app.refresh("x")).status,
    400,
    "a cleanup without expired rows writes nothing",
  );
  w.db.transact((tx) => tx.run("pragma query_only = on"));
  const { commits } = w.db;
  for (const token of [access_token, "mesh_at_unknown", ""]) {
    const found = rows.bearer(w.db, digestOf(token), w.clock.now());
    assert.equal(found !== undefined, token === access_token);
  }
  assert.equal(w.db.commits, commits);
});

Deno.test("token checks and look-ups of credentials search by primary keys [8.relay.cleanup]", () => {
  using w = oauthWorld();
  const Plan = z.object({ detail: z.string() });
  const plan = (sql: string) =>
    w.db.all(Plan, `explain query plan ${sql}`).map(({ detail }) => detail);
  assert.deepEqual(plan(BEARER), [
    "SEARCH t USING PRIMARY KEY (token_hash=?)",
    "SEARCH g USING PRIMARY KEY (grant_id=?)",
  ]);
  const others = [
    "select * from oauth_clients where client_id = :a and expires_at > :b",
    "select * from oauth_codes where code_hash = :a",
    "select * from oauth_refresh_tokens where token_hash = :a",
    "select client_id from oauth_clients where state = 'unused' order by registered_at desc, rowid desc limit -1 offset 4096",
    "select grant_id from oauth_grants where expires_at <= :now limit 20",
    "delete from oauth_grants where grant_id = 'x'",
  ];
  for (const sql of others) {
    const steps = plan(sql);
    assert.ok(
      steps.every((step) => /^SEARCH|USING (COVERING )?INDEX/.test(step)),
      steps.join("; "),
    );
    assert.ok(!steps.some((step) => step.includes("TEMP B-TREE")), steps.join("; "));
  }
});

Deno.test("each write deletes a limited number of expired rows [8.relay.cleanup]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  await app.connect();
  for (let at = 0; at < 30; at++) await new Person(w).allow(app);
  assert.equal(countRows(w.db, "oauth_grants"), 31);
  assert.equal(countRows(w.db, "oauth_spent_forms"), 31);
  await w.clock.advance(20 * 60_000);
  assert.equal(countRows(w.db, "oauth_grants"), 31, "nothing is deleted without a write");
  await app.revoke("nothing");
  assert.equal(countRows(w.db, "oauth_grants"), 11);
  assert.equal(countRows(w.db, "oauth_spent_forms"), 0);
  assert.equal(countRows(w.db, "oauth_access_tokens"), 0);
  await app.revoke("nothing");
  assert.equal(countRows(w.db, "oauth_grants"), 1);
});

Deno.test("expired rows are ignored before they are deleted [8.relay.cleanup]", async () => {
  using w = oauthWorld();
  const app = await App.register(w);
  const issued = [];
  for (let at = 0; at < 25; at++) issued.push(await app.connect());
  await w.clock.advance(30 * DAY_MS);
  assert.equal((await app.refresh(issued.at(-1)?.refresh_token ?? "")).status, 400);
  assert.equal(countRows(w.db, "oauth_grants"), 5, "it was refused while its row existed");
  const codes = [];
  for (let at = 0; at < 25; at++) codes.push((await new Person(w).allow(app)).searchParams);
  await w.clock.advance(60_000);
  assert.equal((await app.redeem(codes.at(-1)?.get("code") ?? "")).status, 400);
  assert.equal(countRows(w.db, "oauth_codes"), 5);
});
