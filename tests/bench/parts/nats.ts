/**
 * Ours beside a NATS server with a stream in a file, where one is installed. Its stream stores a
 * message, but syncs its file to the disk every two minutes only.
 */

import { end, temporary } from "../../support/programs/child.ts";
import { until } from "../../support/waiting.ts";
import type { FloodRate, Latencies } from "../load/job.ts";
import { type Effort, type Figure, interleave } from "../report/figures.ts";
import { Servers } from "./servers.ts";

const PEERS = 20;
const IN_FLIGHT = 64;
const START_MS_MAX = 10_000;
const POLL_MS = 20;

export async function besideNats({ rounds, seconds, count }: Effort): Promise<Figure[]> {
  await using servers = await Servers.start();
  await using nats = await NatsServer.start();
  const flood = { peers: PEERS, in_flight: IN_FLIGHT, seconds };
  const all = await interleave(rounds, {
    timed: () =>
      servers.measure<Latencies>(servers.ours, {
        kind: "latency",
        peers: PEERS,
        count,
        path: "/ask",
      }),
    natsTimed: () => servers.measure<Latencies>(nats, { kind: "natsLatency", count }),
    flooded: () =>
      servers.measure<FloodRate>(servers.ours, { ...flood, kind: "flood", path: "/ask" }),
    natsFlooded: () => servers.measure<FloodRate>(nats, { ...flood, kind: "natsFlood" }),
  });
  const { timed, natsTimed, flooded, natsFlooded } = all;
  const yardstick = (samples: readonly number[]) => ({ name: "nats", samples });
  return [
    {
      what: "nats: ask → frame, p50",
      unit: "ms",
      ours: timed.map(({ p50 }) => p50),
      yardstick: yardstick(natsTimed.map(({ p50 }) => p50)),
    },
    {
      what: "nats: asks a second",
      unit: "/s",
      ours: flooded.map(({ per_second }) => per_second),
      yardstick: yardstick(natsFlooded.map(({ per_second }) => per_second)),
    },
    {
      what: "nats: processor time of an ask",
      unit: "µs",
      ours: flooded.map(({ cpu_us }) => cpu_us),
      yardstick: yardstick(natsFlooded.map(({ cpu_us }) => cpu_us)),
      note: "Its acknowledgement does not wait for the disk, ours does.",
    },
  ];
}

class NatsServer implements AsyncDisposable {
  readonly bare = true;
  readonly port: number;
  readonly #process: Deno.ChildProcess;
  readonly #state: Disposable;

  private constructor(process: Deno.ChildProcess, state: Disposable, port: number) {
    this.#process = process;
    this.#state = state;
    this.port = port;
  }

  get pid(): number {
    return this.#process.pid;
  }

  static async start(): Promise<NatsServer> {
    const state = temporary();
    const { path } = state;
    const listen = ["--addr", "127.0.0.1", "--port", "-1", "--ports_file_dir", path];
    const process = new Deno.Command("nats-server", {
      args: [...listen, "--jetstream", "--store_dir", path],
      stdout: "null",
      stderr: "null",
    }).spawn();
    const file = `${path}/nats-server_${process.pid}.ports`;
    const port = await until("nats-server to listen", () => portIn(file), START_MS_MAX, POLL_MS);
    return new NatsServer(process, state, port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#process, "SIGTERM");
    this.#state[Symbol.dispose]();
  }
}

/** The port in the file that the server writes once it listens; undefined before that. */
function portIn(file: string): number | undefined {
  try {
    const { nats } = JSON.parse(Deno.readTextFileSync(file));
    return Number(new URL(nats[0]).port);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof SyntaxError) return undefined;
    throw error;
  }
}
