/**
 * The doctor's checks of the peers and their jobs: contradictions that the daemon finds in a peer,
 * running jobs of idle executors, and templates that have to wait.
 */

import { diagnosePeer, listJobs } from "protocol/generated/endpoints.ts";
import { type DaemonClient, undefinedOnRefusal } from "../client/daemon_client.ts";
import type { Check, CheckResult } from "./finding.ts";
import type { Peers } from "./snapshot.ts";
import { formatDuration } from "../output/time.ts";

/** Maximum number of peers that are checked, because each peer costs a request. */
const PEERS_MAX = 50;

export const PEERS: Check = {
  area: "peers",
  async run(_, { daemon, peers }) {
    if (!daemon || !peers) return [];
    // The doctor of another machine examines the peers there.
    const here = peers.filter(({ transport }) => transport !== "bus");
    const active = here.filter(({ status }) => status !== "retired");
    const inspected = active.slice(0, PEERS_MAX);
    const found: CheckResult[] = [];
    for (const peer of inspected) found.push(...await contradictions(daemon, peer));
    if (inspected.length < active.length) {
      const detail = `only ${inspected.length} of ${active.length} peers were checked`;
      found.push(["note", "PEERS_MANY", detail, "check one with `mesh peer show <name>`"]);
    }
    return found.length > 0
      ? found
      : [["ok", "PEERS_SOUND", `${inspected.length} peers without contradictions`]];
  },
};

async function contradictions({ call }: DaemonClient, peer: Peers[number]): Promise<CheckResult[]> {
  const request = { params: { id: peer.peer_id }, query: {} };
  const report = await undefinedOnRefusal("unknown_peer", () => call(diagnosePeer, request));
  // Without a report, the peer has been removed since the list was read.
  if (!report) return [];
  const fix = `mesh peer show ${peer.peer_id} shows all of its evidence`;
  return report.contradictions.map(({ code, severity, detail }) =>
    [severity, code, `${peer.name}: ${detail}`, fix] as const
  );
}

/** Longer than the time between the end of a turn and its report. */
const IDLE_MS_MIN = 60_000;

export const JOBS: Check = {
  area: "jobs",
  async run({ clock }, { daemon, peers }) {
    if (!daemon || !peers) return [];
    const { work, recurring } = await daemon.call(listJobs, { query: {} });
    const idle = new Map(
      peers.filter(({ status, turn_state }) => status === "online" && turn_state === "idle")
        .map(({ peer_id, name }) => [peer_id, name]),
    );
    const stuck = work.flatMap(({ job_id, state, phase, runner, updated_at }): CheckResult[] => {
      const name = idle.get(runner?.attempts.at(-1)?.executor_peer_id ?? "");
      const age_ms = clock.now() - Date.parse(updated_at);
      // A job in a phase that the executor has set may wait for any time.
      const isInTurn = state === "delivered" || state === "running" && phase === "turn_started";
      if (name === undefined || !isInTurn || age_ms < IDLE_MS_MIN) return [];
      const age = formatDuration(age_ms);
      const detail = `${job_id} is ${state} since ${age}, and ${name}, which has it, is idle`;
      const verb = state === "delivered" ? "retry" : "cancel";
      return [["warning", "JOB_IDLE", detail, `mesh jobs ${verb} ${job_id}`]];
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
