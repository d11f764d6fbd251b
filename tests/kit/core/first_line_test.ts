/** The first line of a text, as titles and lists show it. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { firstLineOf } from "kit/core/text.ts";

Deno.test("the first line ends at a line break of any kind", () => {
  for (const end of ["\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029"]) {
    assert.equal(firstLineOf(`first${end}second`, 20), "first");
  }
});

Deno.test("blank lines and spaces around the first line are left out", () => {
  assert.equal(firstLineOf("\u0085\n\u2028first", 20), "first");
  assert.equal(firstLineOf("\r\n \t\r\n\n  first  \r\nsecond", 20), "first");
  assert.deepEqual([firstLineOf("", 20), firstLineOf(" \r\n\t", 20)], ["", ""]);
});

Deno.test("a long line is cut, and ends with an ellipsis within the limit", () => {
  assert.equal(firstLineOf("x".repeat(20), 20), "x".repeat(20));
  assert.equal(firstLineOf("x".repeat(21), 20), `${"x".repeat(19)}…`);
});

Deno.test("a cut leaves no half of a surrogate pair", () => {
  assert.equal(firstLineOf("🙂🙂🙂", 5), "🙂🙂…");
  assert.equal(firstLineOf("🙂🙂🙂", 6), "🙂🙂🙂");
});

Deno.test("controls and invisible characters are removed, and count nothing", () => {
  assert.equal(firstLineOf("\x1b[31mred\u200b\u202e", 20), "[31mred");
  assert.equal(firstLineOf(`${"\u200b".repeat(50)}first`, 10), "first");
});

Deno.test("whatever the text, the line is whole, within its limit, and one line", () => {
  const text = fc.string({ unit: "binary", maxLength: 80 });
  fc.assert(fc.property(text, fc.integer({ min: 1, max: 40 }), (text, units_max) => {
    const line = firstLineOf(text, units_max);
    assert.ok(line.length <= units_max && line.isWellFormed());
    assert.doesNotMatch(line, /[\r\n\v\f\u0085\u2028\u2029]/);
  }));
});
