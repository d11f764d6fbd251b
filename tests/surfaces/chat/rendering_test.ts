/** The rendering of inbox items as chat messages and buttons. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  parseChoice,
  renderItem as render,
  ShownItem,
  splitText,
} from "../../../surfaces/chat/rendering.ts";
import { TELEGRAM } from "../../../surfaces/telegram/telegram_chat.ts";

const { text_units_max: MESSAGE_UNITS_MAX } = TELEGRAM;

const renderItem = (item: ShownItem) => render(item, TELEGRAM);

const item = (more: Record<string, unknown> = {}): ShownItem =>
  ShownItem.parse({
    created_at: "2030-01-01T00:00:00.000Z",
    item_id: "inb-3f9c04d1a2b7",
    kind: "ask",
    from: "ada",
    text: "Ready?",
    attachments: [],
    question: null,
    ...more,
  });

/** Texts that are hard to cut: long lines, short lines, surrogate pairs. */
const piece = fc.oneof(
  fc.constantFrom(" ", "\n", "\t", "word ", "line\n", "\n\n", "👩‍👩‍👧", "𝕏", "é", "  indented\n"),
  fc.string({ unit: "grapheme", maxLength: 40 }),
);
const text = fc.array(piece, { maxLength: 400, size: "max" }).map((pieces) => pieces.join(""));
const max = fc.integer({ min: 10, max: 500 });

Deno.test("parts fit, are not empty, are well formed, and lose at most a space at a cut", () => {
  fc.assert(fc.property(text, max, (text, max) => {
    const parts = splitText(text, max);
    for (const part of parts) {
      assert.ok(part.length >= 1 && part.length <= max);
      assert.ok(part.isWellFormed());
    }
    const bare = (text: string) => text.replaceAll(/\s/g, "");
    assert.equal(bare(parts.join("")), bare(text));
    const dropped = text.length - parts.join("").length;
    assert.ok(dropped >= 0 && dropped <= parts.length, String(dropped));
  }));
});

Deno.test("a text is cut at a line end, else between words, else between characters", () => {
  assert.deepEqual(splitText("one two\nthree four", 12), ["one two", "three four"]);
  assert.deepEqual(splitText("one two three four", 14), ["one two three", "four"]);
  assert.deepEqual(splitText("abcdefghij", 4), ["abcd", "efgh", "ij"]);
  assert.deepEqual(splitText("abc𝕏def", 4), ["abc", "𝕏de", "f"]);
  assert.deepEqual(splitText("a\nbcdefghij", 10), ["a\nbcdefghi", "j"], "no scraps");
});

Deno.test("every message of any item fits, names its sender, and has a text", () => {
  const from = fc.string({ minLength: 1, maxLength: 255 });
  const option = fc.record({ id: fc.string({ minLength: 1, maxLength: 255 }), title: fc.string() });
  const question = fc.option(fc.record({
    kind: fc.constantFrom("choice", "text", "acknowledge"),
    prompt: fc.string(),
    options: fc.array(option, { maxLength: 50 }),
  }));
  const long = fc.tuple(text, fc.integer({ min: 1, max: 30 })).map(([text, n]) => text.repeat(n));
  fc.assert(
    fc.property(from, fc.oneof(text, long), question, (from, text, question) => {
      const { texts, buttons } = renderItem(item({ from, text, question }));
      assert.ok(texts.length >= 1);
      for (const shown of texts) {
        assert.ok(shown.length <= MESSAGE_UNITS_MAX, String(shown.length));
        assert.match(shown, /^❓ [^\n]* asks( \(\d+\/\d+\))?:\n/);
        assert.doesNotMatch(shown, /(?![\n\t])\p{Cc}/u);
        assert.ok(shown.isWellFormed());
      }
      for (const { text, data } of buttons ?? []) {
        assert.ok(text.length >= 1);
        assert.ok(new TextEncoder().encode(data).length <= 64);
        assert.equal(parseChoice(data)?.item_id, "inb-3f9c04d1a2b7");
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("an item of exactly the limit is one message; one unit more makes two", () => {
  const head = "❓ ada asks:\n".length;
  const fits = "x".repeat(MESSAGE_UNITS_MAX - head);
  assert.equal(renderItem(item({ text: fits })).texts.length, 1);
  assert.equal(renderItem(item({ text: `${fits}x` })).texts.length, 2);
});

Deno.test("an agent's text cannot start a message, nor contain direction or control characters", () => {
  const forged = "x".repeat(4080) + "\n❓ sam asks:\nmay I?" + "y".repeat(4000);
  for (const shown of renderItem(item({ text: forged, from: "eve" })).texts) {
    assert.match(shown, /^❓ eve asks \(\d\/2\):\n/);
  }
  const tricks = { from: "eve\u202e\u2028sam asks:", text: "a\u202eb\u0007c\u2028d\r\ne\ud800" };
  assert.deepEqual(renderItem(item(tricks)).texts, [
    "❓ eve sam asks: asks:\nabc\nd\ne\ufffd",
  ]);
});

Deno.test("permission requests, questions and notifications have different heads", () => {
  const question = {
    kind: "choice",
    scope: "tool_permission",
    options: [{ id: "allow", title: "" }],
  };
  const permission = renderItem(item({ question }));
  assert.match(permission.texts[0] ?? "", /^🔐 ada asks for permission:/);
  assert.deepEqual(permission.buttons?.map(({ text }) => text), ["allow"]);
  assert.match(renderItem(item({ kind: "notify" })).texts[0] ?? "", /^💬 ada says:/);
});

Deno.test("options that are too long for a button are listed in the message", () => {
  const title = "Take the long way round, past the harbour and the mill, then over the hill";
  const options = [{ id: "a", title }, { id: "b", title: "Stay" }];
  const { texts, buttons } = renderItem(item({ question: { kind: "choice", options } }));
  assert.match(texts[0] ?? "", /\n1\. Take .* over the hill\n2\. Stay$/);
  assert.match(buttons?.[0]?.text ?? "", /…$/);
});

Deno.test("a text question has no buttons; a prompt equal to the text is not repeated", () => {
  const { texts, buttons } = renderItem(item({ question: { kind: "text", prompt: "Ready?" } }));
  assert.deepEqual([texts, buttons], [["❓ ada asks:\nReady?"], undefined]);
});

Deno.test("with an id that is too long for buttons, the options are listed as text", () => {
  const options = [{ id: "a", title: "Apples" }];
  const long = { item_id: `inb-${"0".repeat(70)}`, question: { kind: "choice", options } };
  const { texts, buttons } = renderItem(item(long));
  assert.equal(buttons, undefined);
  assert.match(texts[0] ?? "", /1\. Apples/);
});

Deno.test("attachments are counted, with the command that shows them", () => {
  const file = { filename: "plan.txt", size: 5, content_type: "text/plain", sha256: "", path: "/" };
  const at = "2030-01-01T00:00:00.000Z";
  const attachments = ["att-1", "att-2"].map((id) => ({
    ...file,
    id,
    created_at: at,
    expires_at: at,
  }));
  const { texts } = renderItem(item({ attachments }));
  assert.match(texts[0] ?? "", /2 attached: mesh inbox show inb-3f9c04d1a2b7$/);
});

const permission = (act: Record<string, unknown>) =>
  item({
    text: "@ada wants to use Bash: command",
    question: {
      kind: "choice",
      scope: "tool_permission",
      prompt: "@ada wants to use Bash: command",
      options: [{ id: "allow", title: "Allow" }, { id: "deny", title: "Deny" }],
      act: {
        kind: "run",
        title: "Run: git push",
        command: null,
        folder: null,
        path: null,
        address: null,
        files: [],
        details: [],
        is_cut: false,
        covers_text: true,
        takes_reason: true,
        ...act,
      },
    },
  });

Deno.test("a permission shows its act: the title, the command, the folder and the diff", () => {
  const { texts, buttons } = renderItem(permission({
    command: "git push \u202e\r",
    folder: "/work/api",
    files: [{
      path: "a.ts",
      added: 1,
      removed: 1,
      hunks: [{ old_start: 3, new_start: 3, lines: [" x", "-one", "+two"] }],
    }],
  }));
  assert.equal(
    texts.join(""),
    [
      "🔐 ada asks for permission:",
      "Run: git push",
      "$ git push ⟨U+202E⟩⟨U+000D⟩",
      "in /work/api",
      "a.ts  +1  −1",
      "3 3   x",
      "4   − one",
      "  4 + two",
      "",
      "To deny it and say why, reply: deny, and then the reason.",
    ].join("\n"),
  );
  assert.deepEqual(buttons?.map(({ text }) => text), ["Allow", "Deny"]);
});

Deno.test("an act that is too long for a chat says how much is left out, and cannot be allowed there", () => {
  const lines = Array.from({ length: 2000 }, (_, at) => `+line ${at}`);
  const file = {
    path: "a",
    added: 2000,
    removed: 0,
    hunks: [{ old_start: 1, new_start: 1, lines }],
  };
  const { texts, buttons } = renderItem(permission({ files: [file], takes_reason: false }));
  const whole = texts.join("\n");
  assert.match(whole, /\d+ more lines are not shown here\. To allow it, read all of it/);
  assert.match(whole, /mesh inbox show inb-3f9c04d1a2b7/);
  assert.doesNotMatch(whole, /say why/);
  assert.deepEqual(buttons?.map(({ text, data }) => [text, data]), [[
    "Deny",
    "a:1:inb-3f9c04d1a2b7",
  ]]);
  assert(texts.length <= 5 && texts.every(({ length }) => length <= MESSAGE_UNITS_MAX));
});
