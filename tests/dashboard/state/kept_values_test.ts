/** The last values of what was shown, and the ids in them. */

import assert from "node:assert/strict";
import { idsIn, KeptValues } from "../../../dashboard/state/loaded_values.ts";

Deno.test("the twelve values that were used last are kept", () => {
  const kept = new KeptValues();
  for (let index = 0; index < 12; index++) kept.keep(`view ${index}`, index);
  assert.equal(kept.find("view 0"), 0);
  kept.keep("view 12", 12);
  assert.deepEqual(
    ["view 0", "view 1", "view 2", "view 12"].map((key) => kept.find(key)),
    [0, undefined, 2, 12],
  );
});

Deno.test("an id is found at any depth, and is a whole text", () => {
  const ids = idsIn({ asks: [{ id: "ask-1", by: { id: "peer-1" } }], text: "of ask-2" });
  assert.deepEqual(["ask-1", "peer-1", "ask-2"].map((id) => ids.has(id)), [true, true, false]);
});
