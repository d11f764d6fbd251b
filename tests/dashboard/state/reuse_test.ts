/** Records that have not changed keep their identity. */

import assert from "node:assert/strict";
import { reuse } from "../../../dashboard/state/loaded_values.ts";

Deno.test("a value that is the same is the earlier object itself", () => {
  const before = { peers: [{ id: "a", facts: { busy: true } }], next: null };
  assert.equal(reuse(before, structuredClone(before)), before);
  assert.equal(reuse(before.peers, structuredClone(before.peers)), before.peers);
});

Deno.test("only the changed and the new elements of a list are new objects", () => {
  const before = [{ id: "a", state: "open" }, { id: "b", state: "open" }];
  const next = [{ id: "c", state: "open" }, { id: "a", state: "open" }, { id: "b", state: "seen" }];
  const list = reuse(before, next);
  assert.deepEqual(list, next);
  assert.equal(list[1], before[0]);
  assert.equal(list[2], next[2]);
});

Deno.test("a list that became shorter, or has another order, is a new list", () => {
  const before = [{ id: "a" }, { id: "b" }];
  assert.deepEqual(reuse(before, [{ id: "a" }]), [{ id: "a" }]);
  const turned = reuse(before, [{ id: "b" }, { id: "a" }]);
  assert.deepEqual(turned, [{ id: "b" }, { id: "a" }]);
  assert.equal(turned[0], before[1]);
});

Deno.test("a list of more than 600 records is not compared", () => {
  const list = (length: number) => Array.from({ length }, (_, id) => ({ id }));
  const [short, long] = [list(600), list(601)];
  assert.equal(reuse(short, list(600)), short);
  const next = list(601);
  assert.equal(reuse(long, next), next);
  assert.notEqual(next[0], long[0]);
});

Deno.test("a removed field and a change from or to null give a new value", () => {
  const before: Record<string, unknown> = { items: [{ id: "a" }], error: "gone" };
  assert.deepEqual(reuse(before, { items: [{ id: "a" }] }), { items: [{ id: "a" }] });
  assert.equal(reuse<unknown>(before, null), null);
  assert.deepEqual(reuse<unknown>(null, before), before);
  assert.deepEqual(reuse<unknown>([1, 2], [1, 3]), [1, 3]);
});
