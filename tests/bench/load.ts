/** The load generator, a process of its own: it reads one job and writes one line of figures. */

import { DatabaseSync } from "node:sqlite";
import { built, RawHttpConnection } from "../support/programs/lean_http_client.ts";
import { Connections } from "./websocket_peers.ts";

const TEXT = "x".repeat(512);
const WARM_UP = 200;
/** The pause between two timed messages: agents do not send back to back. */
const PACE_MS = 2;
const STEADY_LANES = 8;
/** How long the daemon may take to notice a closed socket. */
const HANG_MS = 500;

interface Job {
  readonly kind: keyof typeof JOBS;
  readonly port: number;
  readonly path: string;
  readonly cookie: string;
  readonly peers: number;
  readonly count: number;
  readonly in_flight: number;
  readonly seconds: number;
  readonly per_second: number;
  readonly bare: boolean;
  readonly stream: boolean;
}

const JOBS = { latency, flood, steady, replies, fanout, crowd, sqlite, seed, first, ways };

const job = JSON.parse(Deno.args[0] ?? "{}") as Job;
print(await JOBS[job.kind](job));
for await (const _ of Deno.stdin.readable);
Deno.exit(0);

/** One message at a time, to each peer in turn: from the request's write to the frame's arrival. */
async function latency({ port, peers, count, path, bare }: Job) {
  using crowd = await Connections.join(port, peers, bare);
  using http = await RawHttpConnection.open(port);
  const took: number[] = [];
  for (let index = 0; index < count + WARM_UP; index++) {
    const to = index % peers;
    const request = built(port, path, messageTo(crowd, to, index));
    const arrived = crowd.next(to);
    const from = performance.now();
    const [, at] = await Promise.all([http.send(request), arrived]);
    if (index >= WARM_UP) took.push(at - from);
    await pause(PACE_MS);
  }
  return { ...percentiles(took), count };
}

/** Many at once for a while: how many are answered per second. */
async function flood({ port, peers, in_flight, seconds, path, bare }: Job) {
  using crowd = await Connections.join(port, peers, bare);
  let done = 0;
  const from = performance.now();
  const until = from + seconds * 1000;
  await Promise.all(Array.from({ length: in_flight }, async (_, lane) => {
    using http = await RawHttpConnection.open(port);
    const request = built(port, path, messageTo(crowd, lane % peers, lane));
    while (performance.now() < until) {
      await http.send(request);
      done++;
    }
  }));
  const took = (performance.now() - from) / 1000;
  return { per_second: done / took, done };
}

/** A steady rate of notifications to peers that another process has connected. */
async function steady({ port, peers, per_second, seconds }: Job) {
  let sent = 0;
  const from = performance.now();
  const elapsed = () => (performance.now() - from) / 1000;
  await Promise.all(Array.from({ length: STEADY_LANES }, async () => {
    using http = await RawHttpConnection.open(port);
    while (elapsed() < seconds) {
      if (sent >= elapsed() * per_second) {
        await pause(PACE_MS);
        continue;
      }
      const to_peer = `bench-${sent++ % peers}`;
      await http.send(built(port, "/notify", { from_peer: "bench", to_peer, text: TEXT }));
    }
  }));
  return { sent };
}

/** Ask, wait, answer: from the answer's write to the wait's return, the commit included. */
async function replies({ port, count }: Job) {
  using crowd = await Connections.join(port, 2, false);
  using http = await RawHttpConnection.open(port);
  using waiting = await RawHttpConnection.open(port);
  const took: number[] = [];
  for (let index = 0; index < count + WARM_UP; index++) {
    const asked = { ...messageTo(crowd, 0, index), from_peer: crowd.name(1) };
    const { correlation_id } = JSON.parse(await http.send(built(port, "/ask", asked)));
    const wait = { peer_id: crowd.name(1), timeout_seconds: 5 };
    const returned: Promise<number> = waiting.send(
      built(port, `/asks/${correlation_id}/wait`, wait),
    )
      .then(() => performance.now());
    await pause(PACE_MS);
    const answer = built(port, "/ack", { correlation_id, message: TEXT });
    const from = performance.now();
    const [, at] = await Promise.all([http.send(answer), returned]);
    if (index >= WARM_UP) took.push(at - from);
  }
  return { ...percentiles(took), count };
}

/** One message to all peers: from the request's write to the last frame's arrival. */
async function fanout({ port, peers, count, path, bare }: Job) {
  using crowd = await Connections.join(port, peers, bare);
  using http = await RawHttpConnection.open(port);
  const took: number[] = [];
  for (let index = 0; index < count + 10; index++) {
    const arrived = Promise.all(Array.from({ length: peers }, (_, peer) => crowd.next(peer)));
    const message = { from_peer: "bench", text: TEXT, circle: "bench", id: index };
    const from = performance.now();
    await Promise.all([http.send(built(port, path, message)), arrived]);
    if (index >= 10) took.push(performance.now() - from);
  }
  return { ...percentiles(took), count };
}

/** Peers that are connected and idle until the input ends. */
async function crowd({ port, peers, bare, stream }: Job) {
  await Connections.join(port, peers, bare);
  if (stream) void readStream(port);
  return { peers };
}

/** Fills the database: peers connect and leave, and each gets one message. */
async function seed({ port, peers }: Job) {
  const everyone = await Connections.join(port, peers, false);
  const ids = Array.from({ length: peers }, (_, peer) => everyone.id(peer));
  everyone[Symbol.dispose]();
  await pause(HANG_MS);
  using http = await RawHttpConnection.open(port);
  for (const to_peer of ids) {
    await http.send(built(port, "/notify", { from_peer: "bench", to_peer, text: TEXT }));
  }
  return { ids };
}

/** Reconnects one of these peers; resolves when its first message arrives. */
async function first({ port }: Job) {
  using one = await Connections.join(port, 1, false);
  await one.next(0);
  return { id: one.id(0) };
}

/** The same ask by two ways in turn; then a thousand at once by the second, while one hangs. */
async function ways({ port, peers, count, path, cookie }: Job) {
  using crowd = await Connections.join(port, peers, false);
  const type = "application/json";
  const headers = { "content-type": type, "sec-fetch-site": "same-origin", cookie };
  const ask = async (base: string, index: number) => {
    const body = JSON.stringify(messageTo(crowd, index % peers, index));
    const from = performance.now();
    const answer = await fetch(`${base}/ask`, { method: "POST", headers, body });
    await answer.bytes();
    if (answer.status !== 200) throw new Error(String(answer.status));
    return performance.now() - from;
  };
  const took: [number[], number[]] = [[], []];
  for (let index = 0; index < count + WARM_UP; index++) {
    for (const [way, base] of [`http://127.0.0.1:${port}`, path].entries()) {
      const ms = await ask(base, index);
      if (index >= WARM_UP) took[way]?.push(ms);
      await pause(PACE_MS);
    }
  }
  const hanging = new AbortController();
  const stream = await fetch(`${path}/events/stream`, { headers, signal: hanging.signal });
  const from = performance.now();
  await Promise.all(Array.from({ length: 1000 }, (_, index) => ask(path, index)));
  const burst_ms = performance.now() - from;
  hanging.abort();
  await stream.body?.cancel().catch(() => undefined);
  return { direct: percentiles(took[0]), relayed: percentiles(took[1]), burst_ms };
}

/** The baseline of storage: rows in groups of 64, each group on the disk before the next. */
function sqlite({ path, seconds }: Job) {
  using db = new DatabaseSync(path);
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 0");
  db.exec("create table if not exists rows (id integer primary key, ident text unique, text text)");
  const insert = db.prepare("insert into rows (ident, text) values (:ident, :text)");
  const until = performance.now() + seconds * 1000;
  const from = performance.now();
  let done = 0;
  while (performance.now() < until) {
    db.exec("begin immediate");
    for (let row = 0; row < 64; row++) insert.run({ ident: crypto.randomUUID(), text: TEXT });
    db.exec("commit");
    done += 64;
  }
  return Promise.resolve({ per_second: done / ((performance.now() - from) / 1000) });
}

function messageTo(crowd: Connections, to: number, id: number) {
  return crowd.bare ? { to, id, text: TEXT } : {
    from_peer: "bench",
    to_peer: crowd.id(to),
    text: TEXT,
  };
}

async function readStream(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/events/stream`);
  for await (const _ of response.body ?? []);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function percentiles(took: number[]) {
  const sorted = took.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, sorted.length * share | 0)] ?? 0;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

function print(figures: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(figures)}\n`));
}
