/** What a request through a relay costs, beside the same request to the daemon itself. */

import { measure, RealDaemon, Script, temporary } from "../support/programs/child.ts";
import type { Effort, Figure } from "./figures.ts";
import { pause } from "../support/programs/process_facts.ts";

const SECRET = `mesh_sk_${"b".repeat(43)}`;
const PEERS = 20;
const CONNECT_MS_MAX = 10_000;

interface DirectAndRelayed {
  readonly direct: { readonly p50: number; readonly p99: number };
  readonly relayed: { readonly p50: number; readonly p99: number };
  readonly burst_ms: number;
}

/** An ask as a remote tool sends it: to the relay, through the tunnel, to the disk, and back. */
export async function relayed({ count }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using host = await Script.start<{ port: number; cookie: string }>(
    "relay_server.ts",
    SECRET,
  );
  const relay = `http://127.0.0.1:${host.report.port}`;
  const settings = {
    MESH_RELAY__ENABLED: "true",
    MESH_RELAY__URL: relay,
    MESH_RELAY__SECRET: SECRET,
  };
  await using daemon = await RealDaemon.start(state.path, { settings });
  const daemon_id = await connected(daemon.base);
  const path = `${relay}/m/${daemon_id}`;
  const { direct, relayed, burst_ms } = await measure<DirectAndRelayed>({
    kind: "ways",
    port: daemon.port,
    peers: PEERS,
    bare: false,
    path,
    count,
    cookie: host.report.cookie,
  });
  const note = "bare: the same, to the daemon itself";
  return [
    {
      what: "ask over a relay, p50",
      value: relayed.p50,
      unit: "ms",
      budget: 3,
      bare: direct.p50,
      note,
    },
    { what: "ask over a relay, p99", value: relayed.p99, unit: "ms", budget: 15, bare: direct.p99 },
    {
      what: "1,000 at once over a relay",
      value: burst_ms,
      unit: "ms",
      budget: 2000,
      note: "one more hangs all the while",
    },
  ];
}

/** Waits for the tunnel; returns the daemon's id. */
async function connected(base: string): Promise<string> {
  for (const end = performance.now() + CONNECT_MS_MAX; performance.now() < end;) {
    const { daemon_id, relay } = await (await fetch(`${base}/health`)).json();
    if (relay.status === "connected") return daemon_id;
    await pause(50);
  }
  throw new Error("The daemon did not reach the relay");
}
