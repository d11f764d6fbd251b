/** Marks of messages whose frames went out. */

import assert from "node:assert/strict";
import * as ledger from "../../../../../daemon/features/messages/ledger/ledger.ts";
import { world } from "../../../../support/world.ts";
import { addPeer, notify } from "../../../../support/daemon/peer_clients.ts";

const NOT_SENT = "state = 'attempting', sent_at = null";

Deno.test("only messages that were not marked yet are marked, whatever lies between them", async () => {
  await using w = world();
  await addPeer(w, "bob");
  const { db } = w.daemon.ctx;
  const rows = [
    [NOT_SENT, "sent", 7],
    ["state = 'accepted', accepted_at = 5, sent_at = null", "accepted", 7],
    ["state = 'sent', sent_at = 6", "sent", 6],
    [NOT_SENT, "attempting", null],
    [NOT_SENT, "sent", 7],
    ["state = 'attempting', sent_at = 3", "sent", 7],
  ] as const;
  const ids: string[] = [];
  for (const [sql] of rows) {
    const { delivery_id } = await notify(w, "ada", "bob");
    ids.push(delivery_id);
    const seq = ids.length;
    db.transact((tx) => tx.run(`update messages set ${sql} where seq = :seq`, { seq }));
  }
  const marked = db.transact((tx) => ledger.markAllWritten(tx, [6, 5, 1, 2, 3], 7));
  assert.deepEqual(marked, [1, 2, 5, 6]);
  for (const [index, [, state, sent_at]] of rows.entries()) {
    const message = ledger.findMessage(db, ids[index] ?? "");
    assert.deepEqual([message?.state, message?.sent_at], [state, sent_at]);
  }
});
