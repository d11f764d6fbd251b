/** The golden files are up to date, so that a change of generated text shows in review. */

import assert from "node:assert/strict";
import { diffLines } from "diff";
import { GOLDEN, readGolden } from "./gen.ts";
import { digestsOf, partsOf, readDescription } from "./openapi.ts";

/** Characters of a difference that a failed test shows. */
const SHOWN_CHARS_MAX = 4000;

/** The lines that differ, each after its sign. */
function differenceOf(before: string, after: string): string {
  const changes = diffLines(before, after).filter(({ added, removed }) => added || removed);
  const lines = changes.flatMap(({ added, value }) =>
    value.trimEnd().split("\n").map((line) => `${added ? "+" : "-"} ${line}`)
  );
  return lines.join("\n").slice(0, SHOWN_CHARS_MAX);
}

for (const [path, render] of Object.entries(GOLDEN)) {
  Deno.test(`${path} is up to date`, async () => {
    const [before, after] = [readGolden(path), await render()];
    if (before === after) return;
    assert.fail(`${path} has drifted: run \`deno task gen\`\n${differenceOf(before, after)}`);
  });
}

Deno.test("a difference shows the lines that changed, and no others", () => {
  assert.equal(differenceOf("a\nb\nc\n", "a\nB\nc\nd\n"), "- b\n+ B\n+ d");
});

Deno.test("a change of one route or schema changes the digest of that part", async () => {
  const description = await readDescription();
  const parts = partsOf(description);
  assert.ok(parts.has("POST /ask") && parts.has("schema Problem") && parts.size > 150);
  const changed = new Map(parts).set("POST /ask", {});
  const difference = differenceOf(digestsOf(parts), digestsOf(changed));
  assert.deepEqual(difference.match(/ {2}.+$/gm), ["  POST /ask", "  POST /ask"]);
});
