/** A text that is being typed. */

import assert from "node:assert/strict";
import type { Input } from "../../../cli/screen/keys.ts";
import { edit, fieldOf, fieldRows } from "../../../cli/screen/text_field.ts";

function type(...inputs: Input[]) {
  return inputs.reduce((field, input) => edit(field, input) ?? field, fieldOf(""));
}

Deno.test("keys insert at the cursor, move it, and erase whole characters, words and lines", () => {
  assert.deepEqual(type("a", "c", "left", "b"), { text: "abc", cursor: 2 });
  assert.equal(type({ pasted: "ok 👩‍💻" }, "backspace").text, "ok ");
  assert.equal(type({ pasted: "one two  " }, "ctrl-w").text, "one ");
  assert.equal(type({ pasted: "one\ntwo" }, "ctrl-u").text, "one\n");
  assert.equal(type({ pasted: "one\ntwo" }, "up", "end", "ctrl-k", "delete").text, "onetwo");
  assert.deepEqual(type({ pasted: "long\nab" }, "up"), { text: "long\nab", cursor: 2 });
  assert.equal(type("a", "alt-enter", "b").text, "a\nb");
  assert.equal(edit(fieldOf(""), "pageup"), undefined);
});

Deno.test("a pasted text loses its control and hidden characters", () => {
  assert.equal(type({ pasted: "a\x1b[31mb\u202ec\x00" }).text, "a[31mbc");
});

Deno.test("a long line continues in the next row, and wide characters count twice", () => {
  const rows = (text: string) => fieldRows({ text, cursor: text.length }, 5);
  assert.deepEqual(rows("abcdef"), { rows: [["abcd"], ["ef"]], row: 1, column: 2 });
  assert.deepEqual(rows("日本語"), { rows: [["日本"], ["語"]], row: 1, column: 2 });
  assert.deepEqual(rows("a\n"), { rows: [["a"], [""]], row: 1, column: 0 });
});
