/** Jobs that send messages to connected peers, and time them. */

import { RawHttpConnection, requestBytes } from "../../support/programs/lean_http_client.ts";
import { cpuMs, pause } from "../../support/programs/process_facts.ts";
import {
  type FloodRate,
  type Job,
  type Latencies,
  measureLatencies,
  PACE_MS,
  TEXT,
} from "./job.ts";
import { Connections } from "./websocket_peers.ts";

const STEADY_LANES = 8;
const WAIT_SECONDS = 5;

/** Time from a request's write to its frame, with one message under way; peers take turns. */
export async function latency(job: Job): Promise<Latencies> {
  const crowd = await Connections.of(job);
  using http = await RawHttpConnection.open(job.port);
  return await measureLatencies(job, async (index) => {
    const to = index % job.peers;
    const request = requestBytes(job.port, job.path, messageTo(crowd, to, index));
    const arrived = crowd.next(to);
    const from = performance.now();
    const [, at] = await Promise.all([http.send(request), arrived]);
    await pause(PACE_MS);
    return at - from;
  });
}

/** Sends on many lanes for some seconds: how many are answered per second. */
export async function flood(job: Job): Promise<FloodRate> {
  const { port, pid, peers, in_flight, seconds, path } = job;
  const crowd = await Connections.of(job);
  let done = 0;
  const cpu_from = cpuMs(pid);
  const from = performance.now();
  const until = from + seconds * 1000;
  await Promise.all(Array.from({ length: in_flight }, async (_, lane) => {
    using http = await RawHttpConnection.open(port);
    const request = requestBytes(port, path, messageTo(crowd, lane % peers, lane));
    while (performance.now() < until) {
      await http.send(request);
      done++;
    }
  }));
  const took = (performance.now() - from) / 1000;
  return { per_second: done / took, cpu_us: (cpuMs(pid) - cpu_from) * 1000 / done };
}

/** A steady rate of notifications to peers that another process has connected. */
export async function steady({ port, peers, per_second, seconds }: Job) {
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
      await http.send(requestBytes(port, "/notify", { from_peer: "bench", to_peer, text: TEXT }));
    }
  }));
  return { sent };
}

/** From an answer's write to the return of the wait for it, the commit included. */
export async function replies(job: Job): Promise<Latencies> {
  const { port, bare } = job;
  const crowd = await Connections.of(job);
  using http = await RawHttpConnection.open(port);
  using waiting = await RawHttpConnection.open(port);
  const from_peer = crowd.name(1);
  return await measureLatencies(job, async (id) => {
    const send = async (path: string, body: unknown) =>
      JSON.parse(await http.send(requestBytes(port, path, body)));
    let wait = { path: "/wait", body: { id } as unknown };
    let reply = { path: "/reply", body: { id, text: TEXT } as unknown };
    if (!bare) {
      const { correlation_id } = await send("/ask", { ...messageTo(crowd, 0, id), from_peer });
      const body = { peer_id: from_peer, timeout_seconds: WAIT_SECONDS };
      wait = { path: `/asks/${correlation_id}/wait`, body };
      reply = { path: "/ack", body: { correlation_id, message: TEXT } };
    }
    const returned = waiting.send(requestBytes(port, wait.path, wait.body)).then(() =>
      performance.now()
    );
    await pause(PACE_MS);
    const request = requestBytes(port, reply.path, reply.body);
    const from = performance.now();
    const [, at] = await Promise.all([http.send(request), returned]);
    return at - from;
  });
}

/** Time from the request of a broadcast to the last peer's frame. */
export async function fanout(job: Job): Promise<Latencies> {
  const crowd = await Connections.of(job);
  using http = await RawHttpConnection.open(job.port);
  return await measureLatencies(job, async (id) => {
    const arrived = Promise.all(Array.from({ length: job.peers }, (_, peer) => crowd.next(peer)));
    const message = { from_peer: "bench", text: TEXT, circle: "bench", id };
    const from = performance.now();
    await Promise.all([http.send(requestBytes(job.port, job.path, message)), arrived]);
    const took = performance.now() - from;
    await pause(PACE_MS);
    return took;
  });
}

export function messageTo(crowd: Connections, to: number, id: number) {
  if (crowd.bare) return { to, id, text: TEXT };
  return { from_peer: "bench", to_peer: crowd.id(to), text: TEXT };
}
