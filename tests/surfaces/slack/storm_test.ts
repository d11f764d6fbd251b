/** Random failures of Slack and the daemon: all is shown and forwarded, and nothing twice. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { CallOutcome } from "../../support/slack/fake_slack.ts";
import { slackFixture } from "../../support/slack/surface_fixture.ts";

const outcome = fc.constantFrom<CallOutcome>(
  "ok",
  "unreached",
  "lost",
  "done but lost",
  { status: 429, retry_after: 2 },
  { error: "internal_error" },
);
const method = fc.constantFrom(
  "chat.postMessage",
  "conversations.history",
  "conversations.replies",
  "reactions.add",
  "apps.connections.open",
);

/** The random events of a run. */
const step = fc.oneof(
  fc.record({ do: fc.constant("item" as const), parts: fc.integer({ min: 1, max: 2 }) }),
  fc.record({ do: fc.constant("fail" as const), method, outcome }),
  fc.record({ do: fc.constant("reply" as const), arrives: fc.boolean() }),
  fc.constantFrom(
    { do: "drop daemon" as const },
    { do: "drop slack" as const },
    { do: "refresh" as const },
    { do: "repeat" as const },
    { do: "lose answer" as const },
    { do: "restart" as const },
  ),
  fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
);

/** Longer than any pause that a failure can cause. */
const SETTLE_MS = 400_000;

type Fixture = Awaited<ReturnType<typeof slackFixture>>;
type Step = (typeof step) extends fc.Arbitrary<infer S> ? S : never;

/** Writes a reply to the first item, if there is one. */
function reply(r: Fixture, written: string[], arrives: boolean): void {
  const first = r.slack.sent.find(({ thread_ts }) => thread_ts === undefined);
  if (!first) return;
  const text = `reply ${written.length}.`;
  written.push(text);
  if (arrives) r.slack.reply(first.ts, text);
  else r.slack.addMessage(text, { thread_ts: first.ts });
}

/** Does one step; adds the texts that the person wrote to `written`. */
async function take(r: Fixture, event: Step, written: string[]): Promise<void> {
  const { connections } = r.slack;
  switch (event.do) {
    case "item": {
      const text = `item ${r.mesh.items.length}.${"x".repeat(2950 * (event.parts - 1))}`;
      return void r.mesh.item({ kind: "notify", text });
    }
    case "fail":
      return r.slack.failNext(event.method, event.outcome);
    case "reply":
      return reply(r, written, event.arrives);
    case "drop daemon":
      return r.mesh.close(1001);
    case "drop slack":
      return connections.closeAll();
    case "refresh":
      return connections.disconnect("refresh_requested");
    case "repeat":
      return connections.envelopes.forEach((envelope) => connections.repeat(envelope));
    case "lose answer":
      return void r.mesh.outcomes.push("lost");
    case "restart":
      await r.end();
      return await r.start();
    case "pass":
      return await r.advance(event.ms);
  }
}

Deno.test("with random failures items are shown once and in order, and replies are forwarded once", async () => {
  const run = fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
    await using r = await slackFixture();
    const written: string[] = [];
    for (const event of steps) await take(r, event, written);
    await r.advance(SETTLE_MS);
    r.slack.connections.closeAll();
    r.mesh.close(1001);
    await r.advance(SETTLE_MS);

    const heads = r.slack.shown.flatMap((text) => /item (\d+)\./.exec(text.slice(0, 60))?.[1] ?? [])
      .map(Number);
    assert.deepEqual(heads, [...new Set(heads)].sort((a, b) => a - b), "once, and in order");
    const forwarded = r.mesh.replies.map(({ text }) => String(text));
    assert.deepEqual(forwarded.toSorted(), written.toSorted(), "each reply, once");
    const refs = r.mesh.receipts.flatMap(({ surface_refs }) => surface_refs);
    const ids = new Set(r.slack.sent.map(({ ts }) => ts.replace(".", "")));
    assert.ok(refs.every((ref) => ids.has(String(ref))), "every receipt names existing messages");
  });
  await fc.assert(run, { numRuns: 8 });
});
