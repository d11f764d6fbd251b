/** Cost of a network for an idle daemon, compared with a lone daemon in the same minutes. */

import { RealDaemon, temporary } from "../../support/programs/child.ts";
import {
  cpuMs,
  pause,
  privateMb,
  proportionalMb,
  residentMb,
} from "../../support/programs/process_facts.ts";
import { RealNetwork } from "../../support/real_machines/real_network.ts";
import { LoadGenerator } from "../load/generator.ts";
import type { Latencies } from "../load/job.ts";
import type { Effort, Figure } from "../report/figures.ts";

const PEERS = 20;
const SETTLE_MS = 60_000;
const MESSAGES = 1000;
/** Not counted by the load generator. */
const WARM_UP = 100;

type Kind = "private" | "shared in part" | "resident";
const KINDS: Readonly<Record<Kind, (pid: number) => number>> = {
  "private": privateMb,
  "shared in part": proportionalMb,
  "resident": residentMb,
};

/** A machine of a network of three, and a daemon without a bus. */
export async function idleInNetwork({ rounds, idle_seconds }: Effort): Promise<Figure[]> {
  await using resources = new AsyncDisposableStack();
  const network = resources.use(await RealNetwork.start());
  const laptop = await network.join("laptop");
  const buildbox = await network.join("buildbox");
  await network.join("third");
  const state = resources.use(temporary());
  const alone = resources.use(await RealDaemon.start(state.path));
  const load = resources.use(await LoadGenerator.start());
  for (const { port } of [laptop, buildbox, alone]) {
    await load.run({ kind: "crowd", port, peers: PEERS });
  }
  await network.sees(laptop, `bench-${PEERS - 1}@buildbox`);
  await pause(SETTLE_MS);
  const before = memory(laptop.pid, alone.pid);
  const from = { joined: cpuMs(laptop.pid), alone: cpuMs(alone.pid) };
  const watched_seconds = rounds * idle_seconds;
  await pause(watched_seconds * 1000);
  const percent = (spent_ms: number) => spent_ms / (watched_seconds * 10);
  const idle = {
    joined: percent(cpuMs(laptop.pid) - from.joined),
    alone: percent(cpuMs(alone.pid) - from.alone),
  };
  const ask = { kind: "latency", path: "/ask", peers: PEERS, count: MESSAGES - WARM_UP };
  await load.run<Latencies>({
    ...ask,
    port: laptop.port,
    pid: laptop.pid,
    peers_port: buildbox.port,
  });
  await load.run<Latencies>({ ...ask, port: alone.port, pid: alone.pid });
  await pause(SETTLE_MS);
  const after = memory(laptop.pid, alone.pid);
  return [
    ...memoryFigures("after 60 s idle", before),
    ...memoryFigures(`60 s after ${MESSAGES.toLocaleString("en")} asks`, after),
    {
      what: "idle processor time above alone",
      unit: "points",
      ours: [idle.joined - idle.alone],
      budget: { of: "value", max: 0.1 },
      note: `${idle.joined.toFixed(3)} % and ${idle.alone.toFixed(3)} % of a core ` +
        `in ${watched_seconds} s; the kernel counts in steps of 10 ms`,
    },
  ];
}

type Memory = Readonly<Record<Kind, { readonly joined: number; readonly alone: number }>>;

function memory(joined: number, alone: number): Memory {
  const of = (kind: Kind) => ({ joined: KINDS[kind](joined), alone: KINDS[kind](alone) });
  return {
    "private": of("private"),
    "shared in part": of("shared in part"),
    "resident": of("resident"),
  };
}

function memoryFigures(when: string, sample: Memory): Figure[] {
  const { joined, alone } = sample.private;
  const figure = (kind: Kind): Figure => ({
    what: kind,
    unit: "MB",
    ours: [sample[kind].joined],
    yardstick: { name: "alone", samples: [sample[kind].alone] },
  });
  return [{
    what: `memory above alone, ${when}`,
    unit: "MB",
    ours: [joined - alone],
    budget: { of: "value", max: 15 },
    details: [figure("private"), figure("shared in part"), figure("resident")],
  }];
}
