/** Conversion of input that xterm.js reports into keys. */

import assert from "node:assert/strict";
import { Key } from "protocol/agents/contract.ts";
import { keysOf, pasteOf } from "../../../../dashboard/components/terminal/typed_keys.ts";

Deno.test("texts, named keys and control keys are distinguished", () => {
  assert.deepEqual(keysOf("ls é😀\r"), [{ text: "ls é😀" }, { key: "Enter" }]);
  assert.deepEqual(keysOf("\x1b[A\x1bOB\x1b[Z\t\x7f\x1b\x03\n"), [
    { key: "Up" },
    { key: "Down" },
    { key: "BackTab" },
    { key: "Tab" },
    { key: "Backspace" },
    { key: "Escape" },
    { key: "Ctrl-c" },
    { key: "Ctrl-j" },
  ]);
});

Deno.test("sequences without a key of the daemon are left out", () => {
  assert.deepEqual(keysOf("\x1b[1;5C\x00\x1c\x9b\x1bOP"), []);
});

Deno.test("a paste keeps its lines, and loses other controls", () => {
  assert.deepEqual(pasteOf("a\r\nb\rc\td\x1b[31m\x07"), [{ paste: "a\nb\nc\td[31m" }]);
  assert.deepEqual(pasteOf("\x07"), []);
});

Deno.test("every key that is made here is one that the daemon takes", () => {
  const all = Array.from({ length: 0x2030 }, (_, code) => String.fromCharCode(code));
  for (const key of [...all.flatMap(keysOf), ...all.flatMap(pasteOf)]) {
    assert.ok(Key.safeParse(key).success, JSON.stringify(key));
  }
});
