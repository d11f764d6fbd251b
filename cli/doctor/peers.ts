/**
 * The doctor's check of the peers: reports the contradictions that the daemon finds in each peer.
 */

import { diagnosePeer } from "protocol/generated/endpoints.ts";
import { type DaemonClient, undefinedOnRefusal } from "../client/daemon_client.ts";
import type { Check, CheckResult } from "./finding.ts";
import type { Peers } from "./snapshot.ts";

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
