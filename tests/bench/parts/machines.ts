/**
 * Messages from one machine to another: two real daemons on one real nats-server, beside what the
 * same server does alone. Version 2.9 of it writes a stream to its file, and syncs the file every
 * two minutes.
 */

import { RealNetwork } from "../../support/real_machines/real_network.ts";
import type { FloodedAcross } from "../load/across.ts";
import { LoadGenerator } from "../load/generator.ts";
import type { FloodRate, Job, Latencies } from "../load/job.ts";
import { type Budget, type Effort, type Figure, interleave } from "../report/figures.ts";

const IN_FLIGHT = 64;

type Remark = (text: string) => void;

export async function machines(effort: Effort, remark: Remark): Promise<Figure[]> {
  if (!isServerInstalled()) {
    remark("machines were left out: nats-server is not installed (apt-get install nats-server).");
    return [];
  }
  const { rounds, seconds, count } = effort;
  await using pair = await Pair.start();
  const flood = { kind: "floodAcross", in_flight: IN_FLIGHT, seconds };
  const all = await interleave(rounds, {
    asks: () => pair.send<Latencies>({ kind: "latency", path: "/ask", count }),
    requests: () => pair.alone<Latencies>({ kind: "natsRequests", count }),
    replies: () => pair.send<Latencies>({ kind: "repliesAcross", count }),
    stream: () => pair.alone<Latencies>({ kind: "natsLatency", count }),
    durable: () => pair.alone<Latencies>({ kind: "natsDurable", count }),
    askFlood: () => pair.send<FloodedAcross>({ ...flood, path: "/ask" }),
    noteFlood: () => pair.send<FloodedAcross>({ ...flood, path: "/notify" }),
    streamFlood: () => pair.alone<FloodRate>({ kind: "natsFlood", in_flight: IN_FLIGHT, seconds }),
  });
  const { asks, replies, askFlood, noteFlood, streamFlood, ...yardsticks } = all;
  return [
    timingFigure("ask → frame there, p50", asks, yardsticks, "p50", { of: "ratio", max: 5 }),
    timingFigure("ask → frame there, p99", asks, yardsticks, "p99"),
    timingFigure("reply there → wait returns, p50", replies, yardsticks, "p50"),
    timingFigure("reply there → wait returns, p99", replies, yardsticks, "p99"),
    ...floodFigures("asks", askFlood, streamFlood),
    ...floodFigures("notifies", noteFlood, streamFlood),
  ];
}

/** Two machines, and the load generator. Its peers are connected to the second machine. */
class Pair implements AsyncDisposable {
  readonly #network: RealNetwork;
  readonly #load: LoadGenerator;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    network: RealNetwork,
    load: LoadGenerator,
    resources: AsyncDisposableStack,
  ) {
    this.#network = network;
    this.#load = load;
    this.#resources = resources;
  }

  static async start(): Promise<Pair> {
    await using started = new AsyncDisposableStack();
    const network = started.use(await RealNetwork.start());
    const laptop = await network.join("laptop");
    const buildbox = await network.join("buildbox");
    const load = started.use(await LoadGenerator.start());
    await load.run({ kind: "crowd", port: buildbox.port, peers: IN_FLIGHT });
    for (let peer = 0; peer < IN_FLIGHT; peer++) {
      await network.sees(laptop, `bench-${peer}@buildbox`);
    }
    return new Pair(network, load, started.move());
  }

  /** A job from the first machine to the peers of the second one. */
  async send<T>(job: Partial<Job>): Promise<T> {
    const [laptop, buildbox] = this.#network.machines;
    if (!laptop || !buildbox) throw new Error("A machine is missing");
    return await this.#load.run<T>({
      ...job,
      port: laptop.port,
      pid: laptop.pid,
      peers: IN_FLIGHT,
      peers_port: buildbox.port,
      peers_pid: buildbox.pid,
      bus_pid: this.#network.server.pid ?? 0,
    });
  }

  /** A job for the server alone. */
  async alone<T>(job: Partial<Job>): Promise<T> {
    const { port, pid = 0, admin } = this.#network.server;
    return await this.#load.run<T>({ ...job, port, pid, bus_seed: admin.seed });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

interface Yardsticks {
  readonly requests: readonly Latencies[];
  readonly stream: readonly Latencies[];
  readonly durable: readonly Latencies[];
}

/**
 * Beside a request, which is answered and stored nowhere; beside a stream, which the server has in
 * its file without a sync; and beside the same with a synced row at both ends, as durable as ours.
 */
function timingFigure(
  what: string,
  samples: readonly Latencies[],
  { requests, stream, durable }: Yardsticks,
  of: "p50" | "p99",
  budget?: Budget,
): Figure {
  const beside = (name: string, yardstick: readonly Latencies[]) => ({
    unit: "ms",
    ours: samples.map((sample) => sample[of]),
    yardstick: { name, samples: yardstick.map((sample) => sample[of]) },
  });
  return {
    what,
    ...beside("request, nothing stored", requests),
    ...budget && { budget },
    details: [
      { what: "beside a stream", ...beside("stream, not synced", stream) },
      {
        what: "beside synced rows",
        ...beside("rows at both ends", durable),
        ...budget && { budget },
      },
    ],
  };
}

function floodFigures(
  what: string,
  samples: readonly FloodedAcross[],
  stream: readonly FloodRate[],
): Figure[] {
  const processorTime = (side: string, of: "sender_us" | "receiver_us" | "bus_us"): Figure => ({
    what: `processor time, ${side}`,
    unit: "µs",
    ours: samples.map((sample) => sample[of]),
  });
  return [{
    what: `${what} a second there, ${IN_FLIGHT} in flight`,
    unit: "/s",
    ours: samples.map(({ per_second }) => per_second),
    yardstick: { name: "publications", samples: stream.map(({ per_second }) => per_second) },
    note: "From the request here to the frame there, which ends a flight.",
    details: [
      processorTime("sender", "sender_us"),
      processorTime("receiver", "receiver_us"),
      processorTime("server", "bus_us"),
    ],
  }];
}

/** The server is not part of the product. */
function isServerInstalled(): boolean {
  try {
    return new Deno.Command("nats-server", { args: ["--version"] }).outputSync().success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
