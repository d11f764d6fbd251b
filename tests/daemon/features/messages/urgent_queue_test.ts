/** The queue of an agent at work: the messages that its next tool call takes, and all others. */

import assert from "node:assert/strict";
import fc from "fast-check";
import * as ledger from "../../../../daemon/features/messages/ledger/ledger.ts";
import { addPeer, notify } from "../../../support/daemon/peer_clients.ts";
import { recordStatements } from "../../../support/storage/query_plans.ts";
import { type World, world } from "../../../support/world.ts";

const SENDERS = ["ada", "bob", "eve"] as const;

interface Sent {
  readonly sender: typeof SENDERS[number];
  readonly urgent: boolean;
}

/** Queues these messages for a new peer. Returns the peer's id, and the row number of the first. */
async function queueFor(w: World, name: string, messages: readonly Sent[]) {
  const { peer_id } = await addPeer(w, name);
  for (const { sender, urgent } of messages) {
    await notify(w, sender, name, "text", { urgent, bypass_circle: true });
  }
  const [first] = ledger.queue(w.daemon.ctx.db, peer_id, 1);
  return { peer_id, from: first?.seq ?? 0 };
}

Deno.test("an urgent message takes the earlier ones of its sender along, and holds the later ones", async () => {
  await using w = world();
  const { db } = w.daemon.ctx;
  const message = fc.record({ sender: fc.constantFrom(...SENDERS), urgent: fc.boolean() });
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 8 }), async (messages) => {
      const { peer_id, from } = await queueFor(w, `peer-${++count}`, messages);
      const isUrgentOf = (sender: string) => (other: Sent) =>
        other.urgent && other.sender === sender;
      const taken = messages.flatMap(({ sender }, at) =>
        messages.slice(at).some(isUrgentOf(sender)) ? [from + at] : []
      );
      const seqs = ledger.urgentQueue(db, peer_id, 5).map(({ seq }) => seq);
      assert.deepEqual(seqs, taken.slice(0, 5));
      const free = messages.findIndex(({ sender }, at) =>
        !messages.slice(0, at + 1).some(isUrgentOf(sender))
      );
      const now = w.clock.now();
      const held = { after: now - 1, until: now };
      assert.equal(
        ledger.firstNotHeld(db, peer_id, held)?.seq,
        free < 0 ? undefined : from + free,
      );
      // Older urgent messages hold nothing.
      assert.equal(ledger.firstNotHeld(db, peer_id, { after: now, until: now + 1 })?.seq, from);
    }),
    { numRuns: 60 },
  );
});

Deno.test("a queue is not read once for each of its messages", async () => {
  using recorded = recordStatements();
  await using w = world();
  const { db } = w.daemon.ctx;
  const { peer_id } = await queueFor(w, "kim", [{ sender: "ada", urgent: true }]);
  ledger.urgentQueue(db, peer_id, 5);
  ledger.firstNotHeld(db, peer_id, { after: 0, until: 1 });
  const nested = [...recorded.statements].filter((sql) =>
    /\burgent\b/.test(sql) && recorded.planOf(db, sql).some((step) => step.startsWith("CORRELATED"))
  );
  assert.deepEqual(nested, []);
});
