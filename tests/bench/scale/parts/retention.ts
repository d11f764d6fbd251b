/** Retention: how fast it deletes half of the messages, and what it holds up. */

import { DatabaseSync } from "node:sqlite";
import { temporary } from "../../../support/programs/child.ts";
import { cpuMs, pause } from "../../../support/programs/process_facts.ts";
import { seedPeers } from "../../parts/starts.ts";
import { fillMessages } from "../fill/messages.ts";
import type { PartMeasurements, Scale } from "../report/growth.ts";
import { ProbedDaemon } from "./under_probe.ts";

/** A tick deletes the same number of any number of messages, so a part of them suffices. */
const SHARE = 1 / 4;

export async function retention(scale: Scale): Promise<PartMeasurements> {
  using state = temporary();
  await seedPeers(state.path);
  const path = `${state.path}/mesh.db`;
  const filled = scale.messages * SHARE;
  fillMessages(path, { count: filled, count_max: filled });
  const kept = { MESH_DAEMON__HISTORY_MESSAGES: String(Math.ceil(filled / 2)) };
  await using at = await ProbedDaemon.start(state.path, kept);
  using db = new DatabaseSync(path, { readOnly: true });
  const count = () => Number(db.prepare("select count(*) as rows from messages").get()?.["rows"]);
  const before = count(), cpu_before = cpuMs(at.daemon.pid), from = performance.now();
  const probed = await at.probeDuring(() => pause(scale.seconds * 1000));
  const seconds = (performance.now() - from) / 1000;
  const note = `of ${filled} messages, half are deleted`;
  const share = (cpuMs(at.daemon.pid) - cpu_before) / seconds / 10;
  const deleted = before + probed.count - count();
  return {
    growth: [],
    singles: [
      { what: "messages deleted", value: deleted / seconds, unit: "/s", note },
      { what: "processor time, with the deliveries below", value: share, unit: "%" },
      { what: "delivery p50 meanwhile", value: probed.p50, unit: "ms" },
      { what: "delivery p99 meanwhile", value: probed.p99, unit: "ms" },
      { what: "longest delivery meanwhile", value: probed.max, unit: "ms" },
    ],
  };
}
