/** Schedules: many that are due within one minute. */

import { temporary } from "../../../support/programs/child.ts";
import { cpuMs, pause } from "../../../support/programs/process_facts.ts";
import { LoadGenerator } from "../../load/generator.ts";
import { Growths, type PartMeasurements, type Scale, type Single } from "../report/growth.ts";
import { ProbedDaemon } from "./under_probe.ts";

const PEERS = 20;
const LANES = 16;
/** Creating the schedules ends before the first is due. */
const LEAD_MS = 45_000;
const MINUTE_MS = 60_000;
const LATE_MS_MAX = 30_000;

/** Schedules are due at every moment of one minute, and each fires once. */
export async function schedules({ schedules: count }: Scale): Promise<PartMeasurements> {
  using state = temporary();
  await using at = await ProbedDaemon.start(state.path);
  const { pid, port } = at.daemon;
  await using _crowd = await LoadGenerator.crowd({ port, peers: PEERS });
  const growths = new Growths("active schedules");
  const due_from = Date.now() + LEAD_MS;
  let created = 0, since = performance.now(), next = Math.ceil(count / 4);
  await Promise.all(Array.from({ length: LANES }, async () => {
    while (created < count) {
      await create(at, created++, due_from + MINUTE_MS * created / count);
      if (created < next) continue;
      const each = (performance.now() - since) / Math.ceil(count / 4);
      growths.add("create one, 16 at a time", { n: next, ms: each });
      [since, next] = [performance.now(), next + Math.ceil(count / 4)];
    }
  }));
  await pause(Math.max(0, due_from - Date.now()));
  const cpu_before = cpuMs(pid);
  let late_max = 0;
  const probed = await at.probeDuring(async () => {
    for (const end = due_from + MINUTE_MS + LATE_MS_MAX; Date.now() < end; await pause(500)) {
      late_max = Math.max(late_max, await at.metric("mesh_schedules_late_seconds"));
      if (await at.metric("mesh_schedules") === 0) break;
    }
  });
  const singles: Single[] = [
    { what: "schedules due in one minute", value: count, unit: "" },
    { what: "left over afterwards", value: await at.metric("mesh_schedules"), unit: "" },
    { what: "most overdue schedule", value: late_max, unit: "s" },
    { what: "processor time in that minute", value: (cpuMs(pid) - cpu_before) / 600, unit: "%" },
    { what: "delivery p50 in that minute", value: probed.p50, unit: "ms" },
    { what: "delivery p99 in that minute", value: probed.p99, unit: "ms" },
    { what: "longest delivery in that minute", value: probed.max, unit: "ms" },
  ];
  return { growth: growths.all(), singles };
}

async function create(at: ProbedDaemon, number: number, due: number): Promise<void> {
  await at.post("/schedules", {
    from_peer: "bench",
    to_peer: `bench-${1 + number % (PEERS - 1)}`,
    text: `Number ${number}`,
    fire_at: new Date(due).toISOString(),
  });
}
