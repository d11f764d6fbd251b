/** Key presses, from what terminals send. */

import assert from "node:assert/strict";
import { KeyReader } from "../../../cli/screen/keys.ts";

function read(...chunks: string[]) {
  const reader = new KeyReader();
  return chunks.flatMap((chunk) => reader.read(chunk));
}

Deno.test("keys have names, also several in one piece and one in two pieces", () => {
  assert.deepEqual(read("j\x1b[Ak\r\t\x7f\x07é🎉"), [
    ...["j", "up", "k", "enter", "tab", "backspace", "ctrl-g", "é", "🎉"],
  ]);
  assert.deepEqual(read("\x1b[", "B", "\x1bO", "A", "\x1b[3", "~"), ["down", "up", "delete"]);
  assert.deepEqual(read("\x1b[Z\x1b[5~\x1b[H\x1b\r"), ["shift-tab", "pageup", "home", "alt-enter"]);
});

Deno.test("Escape is a key of its own, and an unknown sequence is ignored", () => {
  assert.deepEqual(read("\x1b"), ["escape"]);
  assert.deepEqual(read("\x1bc"), ["escape", "c"]);
  assert.deepEqual(read("\x1b[1;5Pq\x1b[<0;3;4Mq\x00"), ["q", "q"]);
});

Deno.test("a paste is one input, whatever keys are in it", () => {
  const pasted = { pasted: "one\ntwo\x1b[A" };
  assert.deepEqual(read("a\x1b[200~one\r", "two\x1b[A\x1b[20", "1~b"), ["a", pasted, "b"]);
});
