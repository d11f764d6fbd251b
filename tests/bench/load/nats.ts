/** Jobs that send messages through a NATS server: as requests, and through a stream. */

import { AckPolicy, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { DatabaseSync } from "node:sqlite";
import { temporary } from "../../support/programs/child.ts";
import { cpuMs, pause } from "../../support/programs/process_facts.ts";
import {
  type FloodRate,
  type Job,
  type Latencies,
  measureLatencies,
  PACE_MS,
  TEXT,
} from "./job.ts";

const STREAM = "bench";
const REQUESTS = "bench_requests";

type Connection = Awaited<ReturnType<typeof connect>>;

/** Time from publication to a consumer of the stream, with one message under way. */
export async function natsLatency(job: Job): Promise<Latencies> {
  return await throughStream(job, () => undefined);
}

/** The same, with a row that is on the disk before the publication, and one after the arrival. */
export async function natsDurable(job: Job): Promise<Latencies> {
  using folder = temporary();
  using sender = new Rows(`${folder.path}/sender.db`);
  using receiver = new Rows(`${folder.path}/receiver.db`);
  return await throughStream(job, (end) => (end === "sender" ? sender : receiver).insert(TEXT));
}

/** Time of a request to a subscriber that answers at once; nothing is stored. */
export async function natsRequests(job: Job): Promise<Latencies> {
  await using opened = await open(job);
  opened.receiver.subscribe(REQUESTS, { callback: (_, message) => void message.respond(TEXT) });
  await opened.receiver.flush();
  return await measureLatencies(job, async () => {
    const from = performance.now();
    await opened.sender.request(REQUESTS, TEXT);
    const took = performance.now() - from;
    await pause(PACE_MS);
    return took;
  });
}

/** Each row is on the disk when it is inserted. */
class Rows implements Disposable {
  readonly #db: DatabaseSync;

  constructor(path: string) {
    this.#db = new DatabaseSync(path);
    this.#db.exec("pragma journal_mode = wal; pragma synchronous = full");
    this.#db.exec("create table messages (seq integer primary key, text text)");
  }

  insert(text: string): void {
    this.#db.prepare("insert into messages (text) values (?)").run(text);
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}

async function throughStream(
  job: Job,
  store: (end: "sender" | "receiver") => void,
): Promise<Latencies> {
  await using opened = await open(job);
  const js = jetstream(opened.sender);
  let onArrival: (at: number) => void = () => undefined;
  const consumer = await jetstream(opened.receiver).consumers.get(STREAM, STREAM);
  const messages = await consumer.consume({
    callback: () => {
      store("receiver");
      onArrival(performance.now());
    },
  });
  const result = await measureLatencies(job, async () => {
    const arrived = new Promise<number>((resolve) => onArrival = resolve);
    const from = performance.now();
    store("sender");
    const [at] = await Promise.all([arrived, js.publish(`${STREAM}.latency`, TEXT)]);
    await pause(PACE_MS);
    return at - from;
  });
  await messages.close();
  return result;
}

/** Publishes on many lanes for some seconds: how many the stream acknowledges per second. */
export async function natsFlood(job: Job): Promise<FloodRate> {
  const { pid, in_flight, seconds } = job;
  await using opened = await open(job);
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

/** Two connections, and a new stream with one consumer of the subject that is timed. */
async function open({ port, bus_seed }: Job) {
  const seed = bus_seed === undefined ? undefined : new TextEncoder().encode(bus_seed);
  const user = seed && { authenticator: nkeyAuthenticator(seed) };
  const options = { servers: `127.0.0.1:${port}`, ...user };
  const sender = await connect(options);
  const receiver = await connect(options);
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
