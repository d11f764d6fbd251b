/** Maps that keep only their latest entries. */

import assert from "node:assert/strict";
import { setLatest } from "kit/core/bounded_map.ts";

Deno.test("an entry that is set again becomes the latest, and the oldest one is removed", () => {
  const map = new Map([["a", 1], ["b", 2]]);
  setLatest(map, "a", 3, 2);
  assert.deepEqual([...map], [["b", 2], ["a", 3]]);
  setLatest(map, "c", 4, 2);
  assert.deepEqual([...map], [["a", 3], ["c", 4]]);
});
