/** Digests in chats: without marks and escapes, and nothing else is changed. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { digestText } from "../../../daemon/features/digest/digest_text.ts";
import type { Digest } from "protocol/messages/digest.ts";
import { withPlainDigest } from "../../../surfaces/chat/plain_digest.ts";
import { renderItem, ShownItem } from "../../../surfaces/chat/rendering.ts";
import { TELEGRAM } from "../../../surfaces/telegram/telegram_chat.ts";

function digestOf(texts: readonly string[], waiting: number): Digest {
  const items = texts.map((text, index) => ({
    item_id: `inb-00000000000${index}`,
    kind: "ask" as const,
    from: "api_1",
    correlation_id: null,
    text,
    created_at: 0,
  }));
  const counts = { decisions: 0, answers: 0, checks: 0, limits: 0, waiting };
  const lists = { decisions: [], answers: [], checks: [], limits: [], waiting: items };
  return { since: 0, until: 3_600_000, circle: null, ...lists, counts } as Digest;
}

Deno.test("a chat shows a digest without marks, with the texts of agents as they are", () => {
  const digest = digestText(digestOf(["Is `a_b` (**x**) \\o/ #1?", "[Click](http://x.y)"], 7));
  assert.match(digest, /\*\*Waits for you \(7\)\*\*\n[^]*`mesh digest`/);
  const shown = withPlainDigest(`Good *morning*\n\n${digest}`);
  assert.equal(
    shown,
    [
      "Good *morning*",
      "",
      "The last 1h:",
      "",
      "Waits for you (7)",
      "- inb-000000000000 @api_1: “Is `a_b` (**x**) \\o/ #1?”",
      "- inb-000000000001 @api_1: “[Click](http://x.y)”",
      "- and 5 more: mesh digest",
    ].join("\n"),
  );
});

Deno.test("the message of a schedule with a digest is plain text in a chat", () => {
  const item = ShownItem.parse({
    created_at: "2030-01-01T00:00:00.000Z",
    item_id: "inb-3f9c04d1a2b7",
    kind: "notify",
    from: "sam",
    text: `Good morning\n\n${digestText(digestOf(["Is it #1?"], 1))}`,
    attachments: [],
    question: null,
  });
  const { texts: [shown = ""] } = renderItem(item, TELEGRAM);
  assert.match(shown, /\nWaits for you \(1\)\n- inb-\d+ @api_1: “Is it #1\?”$/);
});

Deno.test("each text of an agent reads in a chat's digest as it was written", () => {
  const text = fc.string().map((text) => text.replaceAll(/[\r\n]/g, ""));
  fc.assert(fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
    const shown = withPlainDigest(digestText(digestOf(texts, texts.length)));
    for (const text of texts) assert.ok(shown.includes(`“${text}”`), text);
  }));
});

Deno.test("a text that only resembles a digest stays as it is", () => {
  const texts = [
    "The last time: \\*",
    "The last 1h:\n\n**Waits for you (1)**\nA line \\* between\n- one",
    "**Waits for you (1)**\n- a \\* b",
    "See `x` and \\_y",
  ];
  for (const text of texts) assert.equal(withPlainDigest(text), text);
});
