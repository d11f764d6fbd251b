/** The doctor's check of jobs: running jobs of idle executors, and templates that have to wait. */

import { listJobs } from "protocol/generated/endpoints.ts";
import { formatDuration } from "../output/time.ts";
import type { Check, CheckResult } from "./finding.ts";
import type { Peers } from "./snapshot.ts";

/** Longer than the time between the end of a turn and its report. */
const IDLE_MS_MIN = 60_000;

export const JOBS: Check = {
  area: "jobs",
  async run({ clock }, { daemon, peers }) {
    if (!daemon || !peers) return [];
    const { work, recurring } = await daemon.call(listJobs, { query: {} });
    const idle = new Map(peers.filter(isIdle).map(({ peer_id, name }) => [peer_id, name]));
    const stuck = work.flatMap(({ job_id, state, phase, runner, updated_at }): CheckResult[] => {
      const name = idle.get(runner?.attempts.at(-1)?.executor_peer_id ?? "");
      const age_ms = clock.now() - Date.parse(updated_at);
      // A job in a phase that the executor has set may wait for any time.
      const isInTurn = state === "delivered" || state === "running" && phase === "turn_started";
      if (name === undefined || !isInTurn || age_ms < IDLE_MS_MIN) return [];
      const detail = `${job_id} is ${state} since ${
        formatDuration(age_ms)
      }, and ${name}, which has it, is idle`;
      const fix = state === "delivered"
        ? `mesh jobs retry ${job_id}`
        : `mesh jobs cancel ${job_id}`;
      return [["warning", "JOB_IDLE", detail, fix]];
    });
    const held = recurring.flatMap(({ calendar_id, waits_for_work_id }): CheckResult[] => {
      if (!waits_for_work_id) return [];
      const detail = `${calendar_id} is due, and waits for the end of ${waits_for_work_id}`;
      return [["note", "TEMPLATE_WAITS", detail, `mesh jobs show ${waits_for_work_id}`]];
    });
    const found = [...stuck, ...held];
    return found.length > 0 ? found : [["ok", "JOBS_SOUND", "no job waits in an idle agent"]];
  },
};

function isIdle({ status, turn_state }: Peers[number]): boolean {
  return status === "online" && turn_state === "idle";
}
