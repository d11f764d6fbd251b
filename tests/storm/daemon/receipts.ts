/** The receipts that the peers of a storm have sent, which a crash may lose. */

import type { ReceivedLog } from "./actor.ts";
import { identOf } from "./snapshot.ts";

/** By peer. */
type ReceivedLogs = ReadonlyMap<string, ReceivedLog>;
export type Receipts = ReadonlyMap<string, ReadonlySet<string>>;

/** A copy of the receipts so far. */
export function receiptsOf(received: ReceivedLogs): Receipts {
  return new Map([...received].map(([id, { receipted }]) => [id, new Set(receipted)]));
}

/**
 * Forgets the receipts that reached neither the disk nor, before the crash, their sender. The rows
 * are those of the next run.
 */
export function forgetLostReceipts(
  received: ReceivedLogs,
  known: Receipts,
  rows: readonly { readonly ident: string; readonly state: string }[],
): void {
  const states = new Map(rows.map(({ ident, state }) => [ident, state]));
  for (const [peer_id, { receipted }] of received) {
    for (const id of receipted) {
      const state = states.get(identOf(id));
      const isDurable = state === "accepted" || state === "seen" || known.get(peer_id)?.has(id);
      if (!isDurable) receipted.delete(id);
    }
  }
}
