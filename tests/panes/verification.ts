/** The outcome of a storm over panes: each message beside what every program has read. */

import type { PaneStorm } from "./storm.ts";

export interface StormResult {
  readonly sent: number;
  /** Read by the program that its peer was registered as. */
  readonly delivered: number;
  /** Read by any other program. */
  readonly misdelivered: number;
  readonly duplicated: number;
  /** Accepted, but not in the database. */
  readonly unrecorded: number;
  /** Read, though its record says that it never went out. */
  readonly denied_but_read: number;
  /** Recorded as sent without doubt to a program that still runs, but never read. */
  readonly lost: number;
  /** Not read, and recorded as doubtful, or sent to a program that has ended. */
  readonly uncertain: number;
  readonly restarts: number;
}

/** No message in a wrong pane, none twice, none lost. */
export function isSound(
  { misdelivered, duplicated, unrecorded, denied_but_read, lost }: StormResult,
): boolean {
  return misdelivered + duplicated + unrecorded + denied_but_read + lost === 0;
}

/** A message in one of these states has not gone out. */
const UNSENT_STATES: ReadonlySet<string> = new Set(["queued", "dropped", "expired"]);

export async function evaluate(storm: PaneStorm): Promise<StormResult> {
  const rows = await storm.settle();
  const readers = readersOf(storm);
  let [delivered, misdelivered, duplicated, unrecorded, denied_but_read, lost, uncertain] = [
    0,
    0,
    0,
    0,
    0,
    0,
    0,
  ];
  const running = new Set(storm.runningExecutions);
  for (const { delivery_id, to_peer_id, token } of storm.sent) {
    const read = readers.get(token) ?? [];
    const row = rows.get(delivery_id);
    if (!row) unrecorded++;
    misdelivered += read.filter(({ peer_id }) => peer_id !== to_peer_id).length;
    if (read.length > 1) duplicated++;
    if (read.length > 0) delivered++;
    if (!row || read.length > 0) {
      if (row && UNSENT_STATES.has(row.state)) denied_but_read++;
      continue;
    }
    if (UNSENT_STATES.has(row.state)) continue;
    const recipients = storm.programRuns.filter(({ peer_id }) => peer_id === to_peer_id);
    if (recipients.every((execution) => running.has(execution)) && row.reason === null) lost++;
    else uncertain++;
  }
  const restarts = storm.verbCounts.get("kill daemon") ?? 0;
  const sent = storm.sent.length;
  return {
    sent,
    delivered,
    misdelivered,
    duplicated,
    unrecorded,
    denied_but_read,
    lost,
    uncertain,
    restarts,
  };
}

/** The programs that have read each token. */
function readersOf(storm: PaneStorm) {
  const readers = new Map<string, { peer_id: string | undefined }[]>();
  for (const execution of storm.programRuns) {
    for (const [token] of storm.read(execution).join("\n").matchAll(/token-\d{5}/g)) {
      readers.getOrInsertComputed(token, () => []).push(execution);
    }
  }
  return readers;
}
