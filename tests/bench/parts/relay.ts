/** Cost of a request through a relay, compared with the same request to the daemon. */

import { RealDaemon, Script, temporary } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { LoadGenerator } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";

export const RELAY_SECRET = `mesh_sk_${"b".repeat(43)}`;
const PEERS = 20;
const CONNECT_MS_MAX = 10_000;

interface Spread {
  readonly p50: number;
  readonly p99: number;
}

interface Ways {
  readonly direct: Spread;
  readonly relayed: Spread;
}

/** An ask and the call of a tool: to the relay, through the tunnel, to the disk, and back. */
export async function requestsThroughRelay({ rounds, count }: Effort): Promise<Figure[]> {
  using state = temporary();
  await using generator = await LoadGenerator.start();
  await using host = await Script.start<{ port: number; cookie: string; token: string }>(
    "servers/relay.ts",
    RELAY_SECRET,
  );
  const relay = `http://127.0.0.1:${host.report.port}`;
  const settings = {
    MESH_RELAY__ENABLED: "true",
    MESH_RELAY__URL: relay,
    MESH_RELAY__SECRET: RELAY_SECRET,
  };
  await using daemon = await RealDaemon.start(state.path, { settings });
  const daemon_id = await waitForTunnel(daemon.base);
  const { cookie, token } = host.report;
  const job = { port: daemon.port, peers: PEERS, count };
  const requests = { ...job, kind: "ways", path: `${relay}/m/${daemon_id}`, cookie };
  const calls = { ...job, kind: "toolCalls", path: relay, token, daemon_id };
  const { ways, tools } = await interleave(rounds, {
    ways: () => generator.run<Ways & { readonly burst_ms: number }>(requests),
    tools: () => generator.run<Ways>(calls),
  });
  const beside = (what: string, all: readonly Ways[], of: (spread: Spread) => number): Figure => ({
    what,
    unit: "ms",
    ours: all.map(({ relayed }) => of(relayed)),
    yardstick: { name: "direct", samples: all.map(({ direct }) => of(direct)) },
  });
  const [p50, p99] = [(spread: Spread) => spread.p50, (spread: Spread) => spread.p99];
  const budget = { of: "ratio", max: 2 } as const;
  return [
    { ...beside("ask over a relay, p50", ways, p50), budget },
    beside("ask over a relay, p99", ways, p99),
    { ...beside("tool call over a relay, p50", tools, p50), budget },
    beside("tool call over a relay, p99", tools, p99),
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
export async function waitForTunnel(base: string): Promise<string> {
  for (const end = performance.now() + CONNECT_MS_MAX; performance.now() < end;) {
    const { daemon_id, relay } = await (await fetch(`${base}/health`)).json();
    if (relay.status === "connected") return daemon_id;
    await pause(50);
  }
  throw new Error("The daemon did not reach the relay");
}
