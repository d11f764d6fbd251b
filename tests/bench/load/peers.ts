/** Jobs that connect peers: idle ones, ones that leave, and one that comes back. */

import { RawHttpConnection, requestBytes } from "../../support/programs/lean_http_client.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { type Job, TEXT } from "./job.ts";
import { Connections } from "./websocket_peers.ts";

/** Time in which the daemon notices a closed socket. */
const HANG_MS = 500;

/** Peers that are connected and idle until the input ends. */
export async function crowd(job: Job) {
  await Connections.of(job);
  if (job.stream) void readStream(job.port);
  return { peers: job.peers };
}

/** Fills the database: peers connect and leave, and each gets one message. */
export async function seed(job: Job) {
  const { port, peers } = job;
  const everyone = await Connections.of(job);
  const ids = Array.from({ length: peers }, (_, peer) => everyone.id(peer));
  everyone[Symbol.dispose]();
  await pause(HANG_MS);
  using http = await RawHttpConnection.open(port);
  for (const to_peer of ids) {
    await http.send(requestBytes(port, "/notify", { from_peer: "bench", to_peer, text: TEXT }));
  }
  return { ids };
}

/** Reconnects one of these peers; resolves when its first message arrives. */
export async function first(job: Job) {
  const peer = await Connections.of({ ...job, peers: 1 });
  await peer.next(0);
  return { id: peer.id(0) };
}

async function readStream(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/events/stream`);
  for await (const _ of response.body ?? []);
}
