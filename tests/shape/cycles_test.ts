import assert from "node:assert/strict";
import { cyclesIn } from "./cycles.ts";

/** Files by the names of those that they import. */
function files(imports: Record<string, string[]>) {
  return Object.entries(imports).map(([path, to]) => ({
    path,
    imports: to.map((name) => ({ to: name, type_only: false, lazy: false })),
  }));
}

Deno.test("files that import each other are one cycle, without the files that import them", () => {
  const tree = files({ a: ["b", "c"], b: ["c"], c: ["zod"] });
  assert.deepEqual(cyclesIn(tree), []);
  const circle = files({ a: ["b"], b: ["c"], c: ["d"], d: ["b", "e"], e: [], f: ["g"], g: ["f"] });
  assert.deepEqual(cyclesIn(circle), [["b", "c", "d"], ["f", "g"]]);
});
