/** Refs of surfaces: order, `through_ref`, replies by ref. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { jsonLog } from "kit/core/log.ts";
import { Database } from "kit/data/sqlite.ts";
import { migrations } from "../../../../daemon/app/migrations/migrations.ts";
import { FakeClock } from "../../../support/clock.ts";
import { temporary } from "../../../support/programs/child.ts";
import { type World, world } from "../../../support/world.ts";
import { get, notify, post } from "../../../support/daemon/peer_clients.ts";
import {
  type Item,
  lastSentItem,
  notifyAndShow,
  sendReceipt,
  surface,
} from "../../../support/daemon/surfaces.ts";

const withHuman = () => world({ settings: { "human.name": "sam" } });

const Plan = z.object({ detail: z.string() });
const digit = fc.constantFrom(..."0123456789");
/** Decimal refs of any length, with and without leading zeros. */
const decimal = fc.oneof(
  fc.string({ unit: digit, minLength: 1, maxLength: 3 }),
  fc.string({ unit: digit, minLength: 15, maxLength: 60 }),
  fc.tuple(fc.string({ unit: fc.constant("0"), maxLength: 20 }), fc.nat(30)).map((it) =>
    it.join("")
  ),
);
/** Refs that are not decimal: words, signs, fractions, exponents, digits of other scripts. */
const other = fc.oneof(
  fc.constantFrom("x", "-5", "+5", "1.5", "1e3", " 7", "7 ", "0x10", "٣", "１２", "", "∞", "7\n"),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
    .filter((text) => text.isWellFormed() && !text.includes("\0") && !/^[0-9]+$/.test(text)),
);
const ref = fc.option(fc.oneof({ weight: 3, arbitrary: decimal }, other));

const toNumber = (ref: string | null) => /^[0-9]+$/.test(ref ?? "") ? BigInt(ref!) : undefined;

/** The specified order: numbers first, the highest first; the newest of equals first. */
function inOrder(refs: readonly (string | null)[]): number[] {
  const rank = (index: number) => toNumber(refs[index] ?? null);
  return refs.map((_, index) => index).sort((a, b) => {
    const [x, y] = [rank(a), rank(b)];
    if (x === undefined || y === undefined || x === y) {
      return Number(x === undefined) - Number(y === undefined) || b - a;
    }
    return x < y ? 1 : -1;
  });
}

/** Lets a surface show one item per ref; returns the items' ids. */
async function showAll(w: World, name: string, refs: readonly (string | null)[]) {
  const socket = await surface(w, name);
  const ids: string[] = [];
  for (const ref of refs) {
    const { inbox_item_id = "" } = await notify(w, "ada", "sam", `ref ${ref}`);
    await sendReceipt(socket, lastSentItem(socket).delivery_id, {
      status: "pushed",
      surface_ref: ref,
    });
    ids.push(inbox_item_id);
  }
  await socket.drop();
  return ids;
}

async function listIds(w: World, query: string): Promise<string[]> {
  const { items } = await get(w, `/inbox?limit=500&${query}`);
  return items.map(({ item_id }: Item) => item_id);
}

Deno.test("a surface lists its own items by numeric ref [c4.refs]", async () => {
  let run = 0;
  await using w = withHuman();
  await fc.assert(
    fc.asyncProperty(fc.array(ref, { maxLength: 12 }), async (refs) => {
      const name = `s${++run}`;
      const ids = await showAll(w, name, refs);
      assert.deepEqual(await listIds(w, `surface=${name}`), inOrder(refs).map((n) => ids[n]));
      const cut = (await listIds(w, `surface=${name}&limit=3`)).slice(0, 3);
      assert.deepEqual(cut, inOrder(refs).slice(0, 3).map((n) => ids[n]));
    }),
    { numRuns: 25 },
  );
});

Deno.test("through_ref lists numeric refs up to it, of any length", async () => {
  let run = 0;
  await using w = withHuman();
  const refsAndCutPoints = fc.tuple(
    fc.array(ref, { maxLength: 10 }),
    fc.array(decimal, { minLength: 4 }),
  );
  await fc.assert(
    fc.asyncProperty(refsAndCutPoints, async ([refs, cutPoints]) => {
      const name = `s${++run}`;
      const ids = await showAll(w, name, refs);
      const own = refs.flatMap((ref) => ref !== null && /^[0-9]+$/.test(ref) ? ref : []);
      for (const cut of [...cutPoints, ...own]) {
        const max = BigInt(cut);
        const fits = inOrder(refs).filter((index) => {
          const number = toNumber(refs[index] ?? null);
          return number !== undefined && number <= max;
        });
        const found = await listIds(w, `surface=${name}&through_ref=${cut}`);
        assert.deepEqual(found, fits.map((index) => ids[index]), cut);
      }
    }),
    { numRuns: 20 },
  );
});

Deno.test("a through_ref that is not a number is refused with its path", async () => {
  await using w = withHuman();
  for (const cut of ["x", "", "-1", "1.5", "1e3", "%20", "٣", "0x1"]) {
    const answer = await get(w, `/inbox?surface=phone&through_ref=${cut}`);
    assert.deepEqual([answer.status, answer.issues?.[0]?.path], [422, "through_ref"], cut);
  }
});

Deno.test("an item in several messages is listed by its first ref", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const long = await notifyAndShow(w, phone, 10, [11, 12]);
  const next = await notifyAndShow(w, phone, 13);
  assert.deepEqual(await listIds(w, "surface=phone&through_ref=10"), [long]);
  assert.deepEqual(await listIds(w, "surface=phone&through_ref=9"), []);
  assert.deepEqual(await listIds(w, "surface=phone"), [next, long]);
});

Deno.test("unread and surface can be combined", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const [first, second] = [await notifyAndShow(w, phone, 1), await notifyAndShow(w, phone, 2)];
  await post(w, `/inbox/${second}/read`, { surface: "phone" });
  assert.deepEqual(await listIds(w, "surface=phone&unread=1"), [first]);
  assert.deepEqual(await listIds(w, "surface=phone&unread=1&through_ref=2"), [first]);
  assert.deepEqual(await listIds(w, "surface=phone&unread=0"), [second, first]);
});

Deno.test("a reply finds its item by any ref, as text or number, an exact match first", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const padded = await notifyAndShow(w, phone, "007", ["008"]);
  const bare = await notifyAndShow(w, phone, "7");
  const itemId = await notifyAndShow(w, phone, "m-1", ["m-2"]);
  const cases = [["007", padded], ["008", padded], [8, padded], ["7", bare], [7, bare], [
    "0007",
    undefined,
  ], ["m-2", itemId]] as const;
  for (const [surface_ref, item_id] of cases) {
    const body = { surface: "phone", surface_ref, text: "" };
    assert.equal((await post(w, "/inbox/reply", body)).action, "read", String(surface_ref));
    if (item_id) assert.equal((await get(w, `/inbox/${item_id}`)).read_by, "phone");
  }
  for (const surface_ref of ["m-3", "70", 9, "", -1, 1.5, null, {}]) {
    const { status } = await post(w, "/inbox/reply", { surface: "phone", surface_ref, text: "" });
    assert.equal(
      status,
      ["", 1.5, null, {}].some((bad) => bad === surface_ref) ||
        typeof surface_ref === "object"
        ? 422
        : 404,
      String(surface_ref),
    );
  }
});

Deno.test("a reused ref stands for the last item", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  const [first, second] = [await notifyAndShow(w, phone, 5), await notifyAndShow(w, phone, 5)];
  await post(w, "/inbox/reply", { surface: "phone", surface_ref: 5, text: "" });
  const read = async (id: string) => (await get(w, `/inbox/${id}`)).read;
  assert.deepEqual([await read(first), await read(second)], [false, true]);
});

Deno.test("no query of a surface scans a whole table", async () => {
  await using w = withHuman();
  const phone = await surface(w, "phone");
  await notifyAndShow(w, phone, 1);
  const statements = listen(w);
  await notifyAndShow(w, phone, 2);
  for (const query of ["surface=phone", "surface=phone&through_ref=1&unread=1", "unread=1"]) {
    await get(w, `/inbox?${query}`);
  }
  await post(w, "/inbox/reply", { surface: "phone", surface_ref: 2, text: "" });
  await phone.drop();
  await surface(w, "phone");
  const own = [...statements].filter(([sql]) => /inbox_items|pushes|push_refs/.test(sql));
  assert.ok(own.length > 8);
  for (const [sql, explain] of own) {
    const whole = /limit/.test(sql) && !/union/.test(sql)
      ? /^SCAN (?!inbox_items)|TEMP B-TREE/
      : /^SCAN (?!item USING INDEX inbox_unread)/;
    assert.deepEqual(explain().filter((step) => whole.test(step)), [], sql);
  }
});

/** Records every reading statement with its query plan. */
function listen(w: World): Map<string, () => string[]> {
  const { db } = w.daemon.ctx;
  const statements = new Map<string, () => string[]>();
  const all: typeof db.all = db.all.bind(db), get: typeof db.get = db.get.bind(db);
  const values: typeof db.values = db.values.bind(db);
  const recordQuery = (sql: string, params = {}) => {
    const explain = () =>
      all(Plan, `explain query plan ${sql}`, params).map(({ detail }) => detail);
    statements.set(sql, explain);
  };
  db.all = (row, sql, params) => (recordQuery(sql, params), all(row, sql, params));
  db.get = (row, sql, params) => (recordQuery(sql, params), get(row, sql, params));
  db.values = (value, sql, params) => (recordQuery(sql, params), values(value, sql, params));
  return statements;
}

Deno.test("items that were rendered before the table of refs existed are found by ref", async () => {
  using folder = temporary();
  const path = `${folder.path}/mesh.db`;
  const clock = new FakeClock(), log = jsonLog(clock, "error", () => {});
  using before = new Database(path, migrations.slice(0, 1), log, clock);
  before.transactNow((tx) => {
    tx.run(`insert into inbox_items (item_id, kind, from_name, text, attachments, created_at)
      values ('inb-a', 'notify', 'ada', 'Old', '[]', 1)`);
    tx.run(`insert into pushes (item_id, surface, status, surface_ref, surface_refs, verified,
      at) values ('inb-a', 'phone', 'pushed', '010', '["010", "011"]', 1, 1)`);
  });
  before[Symbol.dispose]();
  await using w = world({ settings: { "human.name": "sam" }, db_path: path });
  assert.deepEqual(await listIds(w, "surface=phone&through_ref=10"), ["inb-a"]);
  const body = { surface: "phone", surface_ref: 11, text: "" };
  assert.equal((await post(w, "/inbox/reply", body)).action, "read");
});
