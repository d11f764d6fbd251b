/** Connects the metrics that are read on request to the features that know their values. */

import { defineGauges } from "../../api/events/gauges.ts";
import { unlessMissing } from "../../host/paths.ts";
import type { RelayClient } from "../../api/relay/relay_client.ts";
import type { Features } from "./compose.ts";

export function openGauges(
  { ctx, db_path, machines, jobs, meters, sockets, telemetry }: Features,
  relayClient: RelayClient | undefined,
): void {
  const { clock, db } = ctx;
  db.observeCommits((took_ms) => meters.committed(took_ms));
  meters.add((metrics) =>
    defineGauges(metrics, {
      db,
      now: () => clock.now(),
      started_at: clock.now(),
      sockets: () => sockets.size,
      jobs: () => jobs.counts(),
      walBytes: () => sizeOf(`${db_path}-wal`),
      memory: () => Deno.memoryUsage(),
      bus: () => machines?.figures() ?? { status: "disabled", waiting: 0 },
      tunnel: () => relayClient?.report().status ?? "disabled",
      spans: () => ({ ...telemetry?.exporter.counts }),
      deno: Deno.version.deno,
    })
  );
}

/** 0 for a file that does not exist: the last connection removes the log. */
function sizeOf(path: string): number {
  return unlessMissing(() => Deno.statSync(path).size) ?? 0;
}
