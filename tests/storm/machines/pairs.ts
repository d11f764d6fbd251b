/** Messages that cross machines: the row at the origin, and the row where it arrived. */

import type { MachinesStorm } from "./machines_storm.ts";
import type { Row } from "./rows.ts";
import type { StormMachine } from "./storm_machine.ts";

export interface Pair {
  readonly origin: StormMachine;
  readonly other: StormMachine;
  readonly sent: Row;
  /** Undefined while it is under way, or if it never arrives. */
  readonly arrived: Row | undefined;
  /** For messages about the pair. */
  readonly title: string;
}

export function pairsOf(storm: MachinesStorm): Pair[] {
  const arrivals = new Map(
    storm.machines.flatMap((other) =>
      other.now.filter(({ sent }) => sent === 0)
        .map((row) => [`${other.daemon_id} ${row.machine} ${row.origin_id}`, row] as const)
    ),
  );
  return storm.machines.flatMap((origin) =>
    origin.now.flatMap((sent) => {
      const other = sent.sent === 1 ? storm.machine(sent.machine ?? "") : undefined;
      if (!other) return [];
      const arrived = arrivals.get(`${other.daemon_id} ${origin.daemon_id} ${sent.origin_id}`);
      const title = `${sent.origin_id} (${sent.text}) from ${origin.name}: ${sent.state}, on ` +
        `${other.name}: ${arrived?.state ?? "missing"}`;
      return [{ origin, other, sent, arrived, title }];
    })
  );
}
