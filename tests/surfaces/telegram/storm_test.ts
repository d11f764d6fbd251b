/** Random failures of Telegram and the daemon: no text and no file is sent twice. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as z from "zod";
import { surfaceFixture } from "../../support/telegram/surface_fixture.ts";
import type { CallOutcome } from "../../support/telegram/fake_bot_api.ts";

const limited: CallOutcome = { error_code: 429, parameters: { retry_after: 2 } };
const outcome = fc.constantFrom<CallOutcome>(
  "ok",
  "ok",
  "unreached",
  "lost",
  "done but lost",
  limited,
  {
    error_code: 500,
  },
);

/** The random events of a run. */
const step = fc.oneof(
  fc.record({
    do: fc.constant("item" as const),
    parts: fc.integer({ min: 1, max: 3 }),
    files: fc.integer({ min: 0, max: 2 }),
  }),
  fc.record({
    do: fc.constant("fail" as const),
    method: fc.constantFrom("sendMessage" as const, "sendDocument" as const),
    outcome,
  }),
  fc.constant({ do: "drop" as const }),
  fc.constant({ do: "offer all" as const }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
);

const filesOf = (value: unknown) => z.array(z.object({ filename: z.string() })).parse(value);
/** Orders `item 2.0` before `item 10.0`. */
const byNumbers = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });

/** Longer than any pause that a failure can cause. */
const SETTLE_MS = 200_000;

Deno.test("with random failures no text and no file is sent twice, the order is kept, and each item ends", async () => {
  const run = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
    await using r = await surfaceFixture();
    const offerAll = () => r.mesh.items.forEach((item) => r.mesh.sendItem(item));
    for (const event of steps) {
      if (event.do === "item") {
        const name = `item ${r.mesh.items.length}.`;
        const attachments = Array.from(
          { length: event.files },
          (_, index) => r.mesh.attachments.add(`${name}${index}`, new Uint8Array(9)),
        );
        r.mesh.item({ text: `${name}${"x".repeat(4000 * (event.parts - 1))}`, attachments });
      } else if (event.do === "fail") r.bot.failNext(event.method, event.outcome);
      else if (event.do === "drop") r.mesh.close(1001);
      else if (event.do === "offer all") offerAll();
      else await r.advance(event.ms);
    }
    await r.advance(SETTLE_MS);
    offerAll();
    await r.advance(SETTLE_MS);

    const files = r.bot.sentMessages.flatMap(({ file }) => file ? [file.filename] : []);
    assert.deepEqual(files, [...new Set(files)], "each file once");
    assert.deepEqual(files, files.toSorted(byNumbers), "files in order");
    const texts = r.bot.sentMessages.filter(({ file }) => !file).map(({ text }) => text).filter(
      (text) => !text.includes("I do not know"),
    );
    const heads = texts.map((text) => text.slice(0, 40));
    const numbered = heads.map((head) => Number(/item (\d+)\./.exec(head)?.[1] ?? NaN));
    const firsts = numbered.filter((number) => !Number.isNaN(number));
    assert.deepEqual(firsts, [...new Set(firsts)].sort((a, b) => a - b), "once, and in order");
    const all = r.bot.sentMessages.map(({ text }) => text.split("\n")[0]);
    for (const { item_id, attachments } of r.mesh.items) {
      const receipts = r.mesh.receipts.filter(({ delivery_id }) =>
        delivery_id === `qd-${item_id.slice(4)}`
      );
      const last = receipts.at(-1);
      assert.ok(last?.["status"] === "pushed" || last?.["error_class"] === "unclear", item_id);
      for (const { filename } of last["status"] === "pushed" ? filesOf(attachments) : []) {
        assert.ok(all.includes(`📎 ada: ${filename}`), `${filename} is sent or named`);
      }
    }
    const refs = r.mesh.receipts.flatMap(({ surface_refs }) => surface_refs);
    const ids = new Set(r.bot.sentMessages.map(({ message_id }) => String(message_id)));
    assert.ok(refs.every((ref) => ids.has(String(ref))), "every receipt names existing messages");
  });
  await fc.assert(run, { numRuns: 4 });
});
