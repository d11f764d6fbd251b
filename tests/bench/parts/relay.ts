/** What a request through a relay costs, beside the same request to the daemon itself. */

import { RealDaemon, Script, temporary } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { LoadGenerator } from "../load/generator.ts";
import { type Effort, type Figure, interleaved } from "../report/figures.ts";

const SECRET = `mesh_sk_${"b".repeat(43)}`;
const PEERS = 20;
const CONNECT_MS_MAX = 10_000;

interface Spread {
  readonly p50: number;
  readonly p99: number;
}

interface Ways {
  readonly direct: Spread;
  readonly relayed: Spread;
  readonly burst_ms: number;
}

/** An ask as a remote tool sends it: to the relay, through the tunnel, to the disk, and back. */
export async function relayed({ rounds, count }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using generator = await LoadGenerator.start();
  await using host = await Script.start<{ port: number; cookie: string }>(
    "servers/relay.ts",
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
  const job = {
    kind: "ways",
    port: daemon.port,
    peers: PEERS,
    path: `${relay}/m/${daemon_id}`,
    count,
    cookie: host.report.cookie,
  };
  const { ways } = await interleaved(rounds, { ways: () => generator.run<Ways>(job) });
  // The relay would print an error if the daemon or the hanging request ended before it.
  await host[Symbol.asyncDispose]();
  const beside = (what: string, of: (spread: Spread) => number): Figure => ({
    what,
    unit: "ms",
    ours: ways.map(({ relayed }) => of(relayed)),
    yardstick: { name: "direct", samples: ways.map(({ direct }) => of(direct)) },
  });
  return [
    { ...beside("ask over a relay, p50", ({ p50 }) => p50), budget: { of: "ratio", max: 2 } },
    beside("ask over a relay, p99", ({ p99 }) => p99),
    {
      what: "1,000 asks at once over a relay",
      unit: "ms",
      ours: ways.map(({ burst_ms }) => burst_ms),
      budget: { of: "value", max: 2000 },
      note: "one more request hangs all the while",
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
