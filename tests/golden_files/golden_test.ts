/** What is generated is what is committed: a change of it is seen in review. */

import assert from "node:assert/strict";
import { GOLDEN, readGolden } from "./gen.ts";

for (const [path, render] of Object.entries(GOLDEN)) {
  Deno.test(`${path} is what the code says`, async () => {
    const text = await render();
    assert.ok(readGolden(path) === text, `${path} has drifted: run \`deno task gen\``);
  });
}
