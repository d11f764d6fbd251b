/** Jobs that send from one machine to peers that are connected to another one. */

import { RawHttpConnection, requestBytes } from "../../support/programs/lean_http_client.ts";
import { cpuMs, pause } from "../../support/programs/process_facts.ts";
import { type Job, type Latencies, measureLatencies, PACE_MS, TEXT } from "./job.ts";
import { messageTo } from "./messages.ts";
import { Connections } from "./websocket_peers.ts";

const WAIT_SECONDS = 5;

/** Messages that the other machine received, and processor time per message in each process. */
export interface FloodedAcross {
  readonly per_second: number;
  readonly sender_us: number;
  readonly receiver_us: number;
  readonly bus_us: number;
}

/** Each lane sends to a peer of its own, and sends again when the frame has arrived there. */
export async function floodAcross(job: Job): Promise<FloodedAcross> {
  const { port, in_flight, seconds, path } = job;
  const crowd = await Connections.of(job);
  const before = processorTimes(job);
  let arrived = 0;
  const from = performance.now();
  const until = from + seconds * 1000;
  await Promise.all(Array.from({ length: in_flight }, async (_, lane) => {
    using http = await RawHttpConnection.open(port);
    const request = requestBytes(port, path, messageTo(crowd, lane, lane));
    for (; performance.now() < until; arrived++) {
      await Promise.all([crowd.next(lane), http.send(request)]);
    }
  }));
  const took = (performance.now() - from) / 1000;
  const after = processorTimes(job);
  const each = (of: keyof typeof after) => (after[of] - before[of]) * 1000 / arrived;
  return {
    per_second: arrived / took,
    sender_us: each("sender"),
    receiver_us: each("receiver"),
    bus_us: each("bus"),
  };
}

/** From an answer's write on the other machine to the return of the wait for it on this one. */
export async function repliesAcross(job: Job): Promise<Latencies> {
  const { port, peers_port = port } = job;
  const crowd = await Connections.of(job);
  const askers = await Connections.of({ port, peers: 1, bare: false });
  using http = await RawHttpConnection.open(port);
  using waiting = await RawHttpConnection.open(port);
  using there = await RawHttpConnection.open(peers_port);
  const from_peer = askers.id(0);
  return await measureLatencies(job, async (index) => {
    const to = index % job.peers;
    const arrived = crowd.nextFrame(to);
    const message = { ...messageTo(crowd, to, index), from_peer };
    const asked = JSON.parse(await http.send(requestBytes(port, "/ask", message)));
    const { correlation_id } = JSON.parse((await arrived).frame);
    const wait = { peer_id: from_peer, timeout_seconds: WAIT_SECONDS };
    const waitPath = `/asks/${asked.correlation_id}/wait`;
    const returned = waiting.send(requestBytes(port, waitPath, wait)).then(() => performance.now());
    await pause(PACE_MS);
    const request = requestBytes(peers_port, "/ack", { correlation_id, message: TEXT });
    const from = performance.now();
    const [, at] = await Promise.all([there.send(request), returned]);
    return at - from;
  });
}

function processorTimes({ pid, peers_pid, bus_pid }: Job) {
  return { sender: cpuMs(pid), receiver: cpuMs(peers_pid), bus: cpuMs(bus_pid) };
}
