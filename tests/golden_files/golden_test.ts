/** The golden files are up to date, so that a change of generated text shows in review. */

import assert from "node:assert/strict";
import { GOLDEN, readGolden } from "./gen.ts";

for (const [path, render] of Object.entries(GOLDEN)) {
  Deno.test(`${path} is up to date`, async () => {
    const text = await render();
    assert.ok(readGolden(path) === text, `${path} has drifted: run \`deno task gen\``);
  });
}
