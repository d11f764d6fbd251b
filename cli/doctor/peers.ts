/**
 * The doctor's check of the peers: reports the contradictions that the daemon finds in each peer.
 */

import * as z from "zod";
import type { DaemonClient } from "../client/daemon_client.ts";
import {
  type Check,
  type CheckResult,
  errorFinding,
  noteFinding,
  ok,
  warningFinding,
} from "./finding.ts";
import type { Peers } from "./snapshot.ts";

const PATH = "/peers/{id}/doctor";
/** How many peers are checked. There is a limit because each peer costs a request. */
const PEERS_MAX = 50;

const Report = z.object({
  contradictions: z.array(z.object({
    code: z.string(),
    severity: z.enum(["error", "warning"]),
    detail: z.string(),
  })),
});

export const PEERS: Check = {
  area: "peers",
  async run(_, { daemon, peers }) {
    if (!daemon || !peers || !await isSupported(daemon)) return [];
    const active = peers.filter(({ status }) => status !== "retired");
    const inspected = active.slice(0, PEERS_MAX);
    const found: CheckResult[] = [];
    for (const peer of inspected) found.push(...await contradictions(daemon, peer));
    if (inspected.length < active.length) {
      const detail = `only ${inspected.length} of ${active.length} peers were checked`;
      found.push(noteFinding("PEERS_MANY", detail, "check one with `mesh peer show <name>`"));
    }
    return found.length > 0
      ? found
      : [ok("PEERS_SOUND", `${inspected.length} peers without contradictions`)];
  },
};

async function isSupported({ get }: DaemonClient): Promise<boolean> {
  const response = await get("/openapi.json");
  const document = z.object({ paths: z.record(z.string(), z.unknown()) })
    .safeParse(await response.json().catch(() => undefined));
  return document.success && Object.hasOwn(document.data.paths, PATH);
}

async function contradictions({ get }: DaemonClient, peer: Peers[number]): Promise<CheckResult[]> {
  const response = await get(PATH.replace("{id}", encodeURIComponent(peer.peer_id)));
  const report = Report.safeParse(await response.json().catch(() => undefined));
  // Without a report, the peer has been removed since the list was read.
  if (!response.ok || !report.success) return [];
  const fix = `mesh peer show ${peer.peer_id} shows all of its evidence`;
  return report.data.contradictions.map(({ code, severity, detail }) =>
    (severity === "error" ? errorFinding : warningFinding)(code, `${peer.name}: ${detail}`, fix)
  );
}
