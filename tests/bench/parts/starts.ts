/** Starts of the daemon with a large database. */

import { copyFileSync } from "node:fs";
import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { cpuMs } from "../../support/programs/process_facts.ts";
import { LoadGenerator, measure } from "../load/generator.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { runEmpty } from "./programs.ts";
import { fill } from "./queue_fill.ts";

const PEERS = 20;
const STORED = 10_000;

/** To `/health` with 10,000 stored messages, beside the whole run of an empty program. */
export async function coldStart({ rounds }: Effort): Promise<Figure[]> {
  using state = temporary();
  await seedPeers(state.path);
  fill(`${state.path}/mesh.db`, STORED);
  const { ours, empty } = await interleave(rounds, {
    ours: async () => {
      await using daemon = await RealDaemon.start(state.path);
      return { ms: daemon.start_ms, cpu_ms: cpuMs(daemon.pid) };
    },
    empty: runEmpty,
  });
  return [{
    what: "start to /health, 10,000 stored",
    unit: "ms",
    ours: ours.map(({ ms }) => ms),
    yardstick: { name: "empty", samples: empty.map(({ ms }) => ms) },
    budget: { of: "ratio", max: 4 },
    details: [{
      what: "processor time",
      unit: "ms",
      ours: ours.map(({ cpu_ms }) => cpu_ms),
      yardstick: { name: "empty", samples: empty.map(({ cpu_ms }) => cpu_ms) },
    }],
  }];
}

/** A restart with a long queue, until a peer that comes back gets its first message. */
export async function restart({ rounds, queued }: Effort): Promise<Figure[]> {
  using state = temporary();
  await seedPeers(state.path);
  const [database, full] = [`${state.path}/mesh.db`, `${state.path}/full.db`];
  fill(database, queued);
  copyFileSync(database, full);
  const { ours } = await interleave(rounds, {
    ours: async () => {
      copyFileSync(full, database);
      await using generator = await LoadGenerator.start();
      const from = performance.now();
      await using daemon = await RealDaemon.start(state.path);
      await generator.run({ kind: "first", port: daemon.port });
      return performance.now() - from;
    },
  });
  return [{
    what: "restart → first redelivery",
    unit: "ms",
    ours,
    budget: { of: "value", max: 2000 },
    note: `${queued.toLocaleString("en")} queued`,
  }];
}

/** Lets peers connect and leave, so that their queues can be filled. */
export async function seedPeers(state: string): Promise<void> {
  await using daemon = await RealDaemon.start(state);
  await measure({ kind: "seed", port: daemon.port, peers: PEERS });
}
