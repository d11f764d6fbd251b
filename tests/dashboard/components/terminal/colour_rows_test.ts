/** Rows of a screen: colours pass, every other sequence and control character is left out. */

import assert from "node:assert/strict";
import {
  plainText,
  withColoursOnly,
} from "../../../../dashboard/components/terminal/colour_rows.ts";

Deno.test("colours and the shifts of line drawings pass as they are", () => {
  const rows = ["\x1b[31mred\x1b[0m", "\x1b[1;38;5;208;48;2;1;2;3mx\x1b[m", "\x1b[38:2::1:2:3mx"];
  for (const row of [...rows, "\x0elqk\x0f", "plain, 日本 and e\u0301"]) {
    assert.equal(withColoursOnly(row), row);
  }
});

Deno.test("links, titles, the clipboard, cursor movements and queries are left out", () => {
  const hostile = [
    "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07link",
    "\x1b]0;title\x07link",
    "\x1b[2J\x1b[10;10Hlink\x1b[6n\x1b[c",
    "\x1bPq#0;1\x1b\\link",
    "\x1b[?1049hli\x00\x07\x08\r\nnk\x7f\x9b",
    "\x1bclink\x1b(0\x1b#8",
    "\x1b[>4;2mlink\x1b[4;1H",
    `\x1b[${"1;".repeat(200)}mlink`,
    "link\x1b",
    "link\x1b]0;never ends",
  ];
  for (const row of hostile) {
    const cleaned = withColoursOnly(row);
    assert.doesNotMatch(
      cleaned,
      // deno-lint-ignore no-control-regex
      /\x1b(?!\[[\d;:]*m)|[\x00-\x0d\x10-\x1a\x1c-\x1f\x7f-\x9f]/,
      JSON.stringify([row, cleaned]),
    );
    assert.match(cleaned, /link/, JSON.stringify(row));
  }
});

Deno.test("the plain text has no sequence at all", () => {
  assert.equal(plainText("\x1b[1;31mred\x1b[0m \x0eq\x0f\x1b]8;;x\x07y"), "red qy");
});
