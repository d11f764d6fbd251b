/** Waits between peers, and the peers that block others. */

import assert from "node:assert/strict";
import { blockersOf, type Wait, waitsOf } from "../../../dashboard/views/blocking.ts";
import { askOf } from "../../support/dashboard/records.ts";

/** `a>b(b>c)`: a waits for b, who waits for c. */
function notationOf(waits: readonly Wait[]): string {
  return waits.map(({ ask, on, elsewhere, circular }) =>
    `${ask.from_peer_id}>${ask.to_peer_id}${circular ? "!" : ""}${elsewhere > 0 ? "+" : ""}` +
    (on.length > 0 ? `(${notationOf(on)})` : "")
  ).join(" ");
}

Deno.test("an ask waits on the open asks of its recipient; the oldest chain is first", () => {
  const asks = [askOf("api", "db", 2), askOf("web", "docs", 1), askOf("boss", "api", 3)];
  assert.equal(notationOf(waitsOf(asks)), "web>docs boss>api(api>db)");
});

Deno.test("an ask that holds up two others is drawn once, and the second refers to it", () => {
  const asks = [askOf("a", "c", 1), askOf("b", "c", 2), askOf("c", "d", 3)];
  assert.equal(notationOf(waitsOf(asks)), "a>c(c>d) b>c+");
});

Deno.test("asks in a circle are drawn, and marked", () => {
  const asks = [askOf("a", "b", 1), askOf("b", "c", 2), askOf("c", "a", 3)];
  assert.equal(notationOf(waitsOf(asks)), "a>b(b>c(c>a!))");
});

Deno.test("each ask is drawn once, for any waits between peers", () => {
  const names = ["a", "b", "c", "d", "e"];
  const asks = names.flatMap((from, index) =>
    names.filter((to) => to !== from).map((to) => askOf(from, to, index))
  );
  const count = (waits: readonly Wait[]): number =>
    waits.reduce((sum, { on }) => sum + 1 + count(on), 0);
  assert.equal(count(waitsOf(asks)), asks.length);
});

Deno.test("a peer blocks those who wait for it, directly and through others", () => {
  const asks = [askOf("a", "b", 1), askOf("b", "c", 2), askOf("d", "c", 3)];
  assert.deepEqual(blockersOf(asks).map(({ name, waiting }) => [name, waiting]), [
    ["c", 3],
    ["b", 1],
  ]);
});
