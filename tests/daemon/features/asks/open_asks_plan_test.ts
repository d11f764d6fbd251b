/** Open asks are found by their index, however many closed asks are stored. */

import assert from "node:assert/strict";
import * as z from "zod";
import { pageStatement, WAITING_QUESTIONS } from "../../../../daemon/features/asks/store.ts";
import { addPeer, ask, get, post } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

const Step = z.object({ detail: z.string() });
const FILTER = { peer_id: null, before: 1000, limit: 10 };

Deno.test("a page of open asks uses the index of open asks", async () => {
  await using w = world();
  const planOf = (state: string | null, more = {}) =>
    w.daemon.ctx.db.all(Step, `explain query plan ${pageStatement(state)}`, { ...FILTER, ...more })
      .map(({ detail }) => detail).join("\n");
  assert.match(planOf("open"), /using index messages_open/i);
  assert.match(planOf("closed", { state: "closed" }), /primary key/i);
});

Deno.test("a report of a turn looks for its peer's question among the held asks, not all open ones", async () => {
  await using w = world();
  const steps = w.daemon.ctx.db.all(Step, `explain query plan ${WAITING_QUESTIONS}`);
  assert.deepEqual(steps.slice(0, 2).map(({ detail }) => detail), [
    "SCAN held",
    "SEARCH messages USING INTEGER PRIMARY KEY (rowid=?)",
  ]);
});

Deno.test("pages of asks are the same by index and by table", async () => {
  await using w = world();
  for (const name of ["ada", "bob", "eve"]) await addPeer(w, name);
  const ids: string[] = [];
  for (const to of ["bob", "eve", "bob", "bob"]) ids.push(await ask(w, "ada", to));
  await post(w, "/ack", { correlation_id: ids[2] });
  const idsOf = async (query: string) => {
    const { asks, next } = await get(w, `/asks?${query}`);
    return [
      asks.map((record: { correlation_id: string }) => ids.indexOf(record.correlation_id)),
      next,
    ];
  };
  assert.deepEqual((await idsOf("state=open"))[0], [3, 1, 0]);
  assert.deepEqual((await idsOf("state=open&peer_id=bob"))[0], [3, 0]);
  assert.deepEqual((await idsOf("state=closed"))[0], [2]);
  assert.deepEqual((await idsOf("peer_id=eve"))[0], [1]);
  const [first, cursor] = await idsOf("state=open&limit=2");
  assert.deepEqual(first, [3, 1]);
  assert.deepEqual((await idsOf(`state=open&limit=2&cursor=${cursor}`))[0], [0]);
});
