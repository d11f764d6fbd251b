/** Lines that are cut, filled and wrapped. */

import assert from "node:assert/strict";
import {
  fill,
  firstLine,
  fit,
  type Line,
  lineWidth,
  withRule,
  wrap,
} from "../../../cli/screen/lines.ts";
import { renderLine, styled } from "../../../cli/output/terminal.ts";

const plain = (line: Line) => renderLine(line, { colours: false });

Deno.test("a line is cut with an ellipsis and filled to its width, in cells", () => {
  assert.equal(plain(fit(["ab", styled("red", "cdef")], 4)), "abc…");
  assert.equal(plain(fit(["日本語"], 4)), "日…");
  for (const text of ["", "ab", "日本語 and more", "é👩‍💻é👩‍💻é👩‍💻"]) {
    assert.equal(lineWidth(fill([text], 7)), 7, text);
  }
  assert.equal(plain(withRule(["ab"], 6, { style: "dim", sign: "─" })), "ab ───");
});

Deno.test("a line is wrapped between words, and a long word within itself", () => {
  const rows = (text: string, columns: number) =>
    wrap([text], columns).map((line) => renderLine(line, { colours: false }));
  assert.deepEqual(rows("one two three", 7), ["one two", "three"]);
  assert.deepEqual(rows("a abcdefgh", 4), ["a", "abcd", "efgh"]);
  assert.deepEqual(rows("  indented", 20), ["  indented"]);
  assert.deepEqual(rows("", 5), [""]);
});

Deno.test("a long text without blanks is wrapped in linear time", () => {
  const started = performance.now();
  assert.equal(wrap(["x".repeat(200_000)], 80).length, 2500);
  assert.ok(performance.now() - started < 2000);
});

Deno.test("escape sequences and hidden characters of a text are not in its first line", () => {
  assert.equal(firstLine("\n\x1b[31m\x1b]0;title\x07red\u202e\u200b\nmore"), "]0;titlered");
});
