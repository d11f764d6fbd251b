/** Jobs that send messages through a NATS server: stored in a stream, then read from it. */

import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { cpuMs, pause } from "../../support/programs/process_facts.ts";
import { type Flooded, type Job, PACE_MS, TEXT, type Timed, timed } from "./job.ts";

const STREAM = "bench";

type Connection = Awaited<ReturnType<typeof connect>>;

/** One message at a time: from its publication to its arrival at a consumer of the stream. */
export async function natsLatency(job: Job): Promise<Timed> {
  await using opened = await open(job.port);
  const js = jetstream(opened.sender);
  let onArrival: (at: number) => void = () => undefined;
  const consumer = await jetstream(opened.receiver).consumers.get(STREAM, STREAM);
  const messages = await consumer.consume({ callback: () => onArrival(performance.now()) });
  const result = await timed(job, async () => {
    const arrived = new Promise<number>((resolve) => onArrival = resolve);
    const from = performance.now();
    const [at] = await Promise.all([arrived, js.publish(`${STREAM}.latency`, TEXT)]);
    await pause(PACE_MS);
    return at - from;
  });
  await messages.close();
  return result;
}

/** Publishes on many lanes for some seconds: how many the stream acknowledges per second. */
export async function natsFlood({ port, pid, in_flight, seconds }: Job): Promise<Flooded> {
  await using opened = await open(port);
  const js = jetstream(opened.sender);
  let done = 0;
  const cpu_from = cpuMs(pid);
  const from = performance.now();
  const until = from + seconds * 1000;
  await Promise.all(Array.from({ length: in_flight }, async () => {
    for (; performance.now() < until; done++) await js.publish(`${STREAM}.flood`, TEXT);
  }));
  const took = (performance.now() - from) / 1000;
  return { per_second: done / took, cpu_us: (cpuMs(pid) - cpu_from) * 1000 / done };
}

/** Two connections, and a new stream with one consumer, for the subject of `natsLatency`. */
async function open(port: number) {
  const servers = `127.0.0.1:${port}`;
  const sender = await connect({ servers });
  const receiver = await connect({ servers });
  const manager = await jetstreamManager(sender);
  await manager.streams.add({ name: STREAM, subjects: [`${STREAM}.>`] });
  await manager.consumers.add(STREAM, {
    durable_name: STREAM,
    ack_policy: AckPolicy.None,
    filter_subject: `${STREAM}.latency`,
  });
  const close = async () => {
    await manager.streams.delete(STREAM);
    await Promise.all([sender, receiver].map((connection: Connection) => connection.close()));
  };
  return { sender, receiver, [Symbol.asyncDispose]: close };
}
