/** What came of a storm over panes: each message beside what every program has read. */

import type { PaneStorm } from "./storm.ts";

export interface Verdict {
  readonly told: number;
  /** Read by the program that its peer was registered as. */
  readonly arrived: number;
  /** Read by any other program. */
  readonly misled: number;
  readonly doubled: number;
  /** Accepted, and not on the record. */
  readonly forgotten: number;
  /** Read, though its record says that it never went out. */
  readonly denied: number;
  /** On the record as sent without a doubt, to one who still runs, and never read. */
  readonly lost: number;
  /** Of those that were not read: on the record as doubtful, or sent to one that has ended. */
  readonly doubtful: number;
  readonly restarts: number;
}

/** Nothing in a wrong pane, nothing twice, nothing lost. */
export function isSound({ misled, doubled, forgotten, denied, lost }: Verdict): boolean {
  return misled + doubled + forgotten + denied + lost === 0;
}

/** What is in one of these states has not gone out. */
const KEPT: ReadonlySet<string> = new Set(["queued", "dropped", "expired"]);

export async function verdict(storm: PaneStorm): Promise<Verdict> {
  const rows = await storm.settle();
  const readers = readersOf(storm);
  let [arrived, misled, doubled, forgotten, denied, lost, doubtful] = [0, 0, 0, 0, 0, 0, 0];
  const here = new Set(storm.here);
  for (const { delivery_id, to_peer_id, token } of storm.sent) {
    const read = readers.get(token) ?? [];
    const row = rows.get(delivery_id);
    if (!row) forgotten++;
    misled += read.filter(({ peer_id }) => peer_id !== to_peer_id).length;
    if (read.length > 1) doubled++;
    if (read.length > 0) arrived++;
    if (!row || read.length > 0) {
      if (row && KEPT.has(row.state)) denied++;
      continue;
    }
    if (KEPT.has(row.state)) continue;
    const ran = storm.executions.filter(({ peer_id }) => peer_id === to_peer_id);
    if (ran.every((execution) => here.has(execution)) && row.reason === null) lost++;
    else doubtful++;
  }
  const restarts = storm.done.get("kill daemon") ?? 0;
  const told = storm.sent.length;
  return { told, arrived, misled, doubled, forgotten, denied, lost, doubtful, restarts };
}

/** Who has read which token. */
function readersOf(storm: PaneStorm) {
  const readers = new Map<string, { peer_id: string | undefined }[]>();
  for (const execution of storm.executions) {
    for (const [token] of storm.read(execution).join("\n").matchAll(/token-\d{5}/g)) {
      readers.getOrInsertComputed(token, () => []).push(execution);
    }
  }
  return readers;
}
