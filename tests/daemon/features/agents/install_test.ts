/** The difference that `mesh setup` shows before it changes a file. */

import assert from "node:assert/strict";
import { type Edit, planEdit } from "../../../../daemon/features/agents/install.ts";

/** The difference for a file that would become `after`; the file is not changed. */
function differenceOf(before: string, after: string): string[] {
  const path = Deno.makeTempFileSync();
  try {
    Deno.writeTextFileSync(path, before);
    const edit: Edit = { path, format: "text", add: () => after, remove: () => after };
    const lines = planEdit(edit).difference.split("\n");
    assert.equal(Deno.readTextFileSync(path), before);
    assert(lines[0] === path || lines[0] === "");
    return lines.slice(1);
  } finally {
    Deno.removeSync(path);
  }
}

function numberedLines(letter: string, count: number): string {
  return Array.from({ length: count }, (_, at) => `${letter}${at}\n`).join("");
}

Deno.test("a difference shows only the changed lines, not those around them", () => {
  assert.deepEqual(differenceOf("a\nsecret\nb\nc\n", "a\nsecret\nx\nc\nd\n"), [
    "- …",
    "+ x",
    "+ d",
  ]);
  assert.deepEqual(differenceOf("", "a\nb\n"), ["+ a", "+ b"]);
  assert.deepEqual(differenceOf("a\nb\n", "b\n"), ["- …"]);
});

Deno.test("a file that keeps its text has no difference", () => {
  assert.deepEqual(differenceOf("a\n", "a\n"), []);
});

Deno.test("a change of line ends only is named as such", () => {
  assert.deepEqual(differenceOf("a\nb\n", "a\r\nb\r\n"), ["(only the layout changes)"]);
});

Deno.test("a file with thousands of new lines is shown as one block, in bounded time", () => {
  const lines = differenceOf(
    `same\n${numberedLines("a", 20_000)}`,
    `same\n${numberedLines("b", 20_000)}`,
  );
  assert.deepEqual([lines[0], lines[1], lines[20_001], lines[20_002]], [
    "- same",
    "- …",
    "+ same",
    "+ b0",
  ]);
  assert.equal(lines.length, 40_002);
});
