/** Hidden characters are shown as what they are. */

import assert from "node:assert/strict";
import { piecesOf, showHidden, showHiddenOnLine, withoutHidden } from "kit/core/hidden.ts";

const markHidden = (text: string) =>
  piecesOf(text).map(({ text, hidden }) => hidden ? `<${text}>` : text).join("");

Deno.test("characters that hide, or that change the order of others, are shown", () => {
  assert.equal(markHidden("/home \u202e#cod/\u202c"), "/home <U+202E>#cod/<U+202C>");
  assert.equal(
    markHidden("pay\u200bpal\u00ad \u2066x\u2069\ufeff"),
    "pay<U+200B>pal<U+00AD> <U+2066>x<U+2069><U+FEFF>",
  );
  assert.equal(markHidden("a\u{e0041}\u001b[2J\u0085"), "a<U+E0041><U+001B>[2J<U+0085>");
  assert.equal(markHidden("one\ttwo\nthree é 日本 \u05d0"), "one\ttwo\nthree é 日本 \u05d0");
});

Deno.test("joiners stay within emoji and scripts that need them, and nowhere else", () => {
  for (const text of ["👩\u200d💻", "می\u200cخواهم", "क्\u200dष"]) {
    assert.equal(markHidden(text), text);
  }
  for (const text of ["❤\ufe0f", "1\ufe0f\u20e3"]) assert.equal(markHidden(text), text);
  assert.equal(markHidden("r\ufe0fm 1\ufe0f"), "r<U+FE0F>m 1<U+FE0F>");
  assert.equal(markHidden("a\u200db"), "a<U+200D>b");
  assert.equal(markHidden("\u200d"), "<U+200D>");
});

Deno.test("a copy has no hidden characters, and no line end after the last line", () => {
  assert.equal(withoutHidden("rm \u202ea\u001b[0m\r\nls\n"), "rm a[0m\nls");
});

Deno.test("a text for a terminal or a chat has numbers in place of its hidden characters", () => {
  assert.equal(showHidden("a\u202eb\u001b[2J\r\n\tc"), "a⟨U+202E⟩b⟨U+001B⟩[2J⟨U+000D⟩\n\tc");
  assert.equal(showHiddenOnLine("a\n\tb\u2028"), "a⟨U+000A⟩⟨U+0009⟩b⟨U+2028⟩");
  assert.equal(showHidden("lone \ud800"), "lone \ufffd");
});
