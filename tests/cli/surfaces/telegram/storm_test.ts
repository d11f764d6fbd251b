/** Random failures of Telegram and the daemon: no text is sent twice. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { surfaceFixture } from "../../../support/telegram/surface_fixture.ts";
import type { CallOutcome } from "../../../support/telegram/fake_bot_api.ts";

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
  fc.record({ do: fc.constant("item" as const), parts: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant("fail" as const), outcome }),
  fc.constant({ do: "drop" as const }),
  fc.constant({ do: "offer all" as const }),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 5_000 }) }),
);

/** Longer than any pause that a failure can cause. */
const SETTLE_MS = 200_000;

Deno.test("with random failures no text is sent twice, the order is kept, and each item ends", async () => {
  const run = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 25 }), async (steps) => {
    await using r = await surfaceFixture();
    const offerAll = () => r.mesh.items.forEach((item) => r.mesh.sendItem(item));
    for (const one of steps) {
      if (one.do === "item") {
        const name = `item ${r.mesh.items.length}.`;
        r.mesh.item({ text: `${name}${"x".repeat(4000 * (one.parts - 1))}` });
      } else if (one.do === "fail") r.bot.failNext("sendMessage", one.outcome);
      else if (one.do === "drop") r.mesh.close(1001);
      else if (one.do === "offer all") offerAll();
      else await r.advance(one.ms);
    }
    await r.advance(SETTLE_MS);
    offerAll();
    await r.advance(SETTLE_MS);

    const texts = r.bot.sentMessages.map(({ text }) => text).filter((text) =>
      !text.includes("I do not know")
    );
    const heads = texts.map((text) => text.slice(0, 40));
    const numbered = heads.map((head) => Number(/item (\d+)\./.exec(head)?.[1] ?? NaN));
    const firsts = numbered.filter((number) => !Number.isNaN(number));
    assert.deepEqual(firsts, [...new Set(firsts)].sort((a, b) => a - b), "once, and in order");
    for (const { item_id } of r.mesh.items) {
      const receipts = r.mesh.receipts.filter(({ delivery_id }) =>
        delivery_id === `qd-${item_id.slice(4)}`
      );
      const last = receipts.at(-1);
      assert.ok(last?.["status"] === "pushed" || last?.["error_class"] === "unclear", item_id);
    }
    const refs = r.mesh.receipts.flatMap(({ surface_refs }) => surface_refs);
    const ids = new Set(r.bot.sentMessages.map(({ message_id }) => String(message_id)));
    assert.ok(refs.every((ref) => ids.has(String(ref))), "every receipt names existing messages");
  });
  await fc.assert(run, { numRuns: 4 });
});
