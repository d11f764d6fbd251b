/** The hunks of a changed file, and their line numbers. */

import assert from "node:assert/strict";
import { fileDiff, hunksOf } from "../../../protocol/derived/compare.ts";
import { numberLines } from "../../../protocol/derived/diff.ts";

const lines = (...texts: string[]) => texts.map((text) => `${text}\n`).join("");
const TEN = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];

Deno.test("a changed line is shown between three lines before and after it, with the numbers", () => {
  const [hunk, ...others] = hunksOf(lines(...TEN), lines(...TEN.with(5, "six")));
  assert.deepEqual(others, []);
  assert.deepEqual(hunk, {
    old_start: 3,
    new_start: 3,
    lines: [" 3", " 4", " 5", "-6", "+six", " 7", " 8", " 9"],
  });
});

Deno.test("changes that lie apart are hunks of their own, and numbers follow the lines before", () => {
  const before = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`);
  const after = before.toSpliced(30, 1).toSpliced(2, 0, "new");
  const hunks = hunksOf(lines(...before), lines(...after));
  assert.deepEqual(hunks.map(({ old_start, new_start }) => [old_start, new_start]), [
    [1, 1],
    [28, 29],
  ]);
  const shown = hunks.flatMap(numberLines).filter(({ sign }) => sign !== " ");
  assert.deepEqual(shown, [
    { sign: "+", text: "new", old: null, new: 3 },
    { sign: "-", text: "line 31", old: 31, new: null },
  ]);
});

Deno.test("a new file is all added lines, and a file that loses all is all removed lines", () => {
  assert.deepEqual(fileDiff("a", "", "x\ny\n"), {
    path: "a",
    added: 2,
    removed: 0,
    hunks: [{ old_start: 1, new_start: 1, lines: ["+x", "+y"] }],
  });
  const { added, removed } = fileDiff("a", "x\ny\n", "");
  assert.deepEqual([added, removed], [0, 2]);
});

Deno.test("a change of nothing but a line end is shown", () => {
  assert.deepEqual(hunksOf("a\nb\n", "a\nb")[0]?.lines, [
    " a",
    "-b",
    "+b",
    "\\ No newline at end of file",
  ]);
  assert.deepEqual(hunksOf("a\r\n", "a\n")[0]?.lines, ["-a\r", "+a"]);
  assert.deepEqual(hunksOf("same", "same"), []);
});

Deno.test("large files with nothing in common are compared at once", () => {
  const before = lines(...Array.from({ length: 20_000 }, (_, at) => `old ${at}`));
  const after = lines(...Array.from({ length: 20_000 }, (_, at) => `new ${at}`));
  const { added, removed } = fileDiff("a", before, after);
  assert.deepEqual([added, removed], [20_000, 20_000]);
});
