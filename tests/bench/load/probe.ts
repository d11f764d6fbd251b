/** Jobs that send one message after another while something else is measured. */

import { RawHttpConnection, requestBytes } from "../../support/programs/lean_http_client.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { type Job, percentiles } from "./job.ts";
import { Connections } from "./websocket_peers.ts";

const PAUSE_MS = 1;

/** Milliseconds from a request's write to the frame's arrival. */
export interface ProbeResult {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

interface RunningProbe {
  stopped: boolean;
  readonly took: Promise<number[]>;
}

let probing: RunningProbe | undefined;

/** Starts to send; resolves when the first message has arrived. */
export async function probe({ port }: Job) {
  const peer = await Connections.of({ port, peers: 1, bare: false });
  const http = await RawHttpConnection.open(port);
  const first = await sendOne(peer, http, port);
  const { promise: took, resolve } = Promise.withResolvers<number[]>();
  const current: RunningProbe = { stopped: false, took };
  probing = current;
  void sendUntilStopped(current, () => sendOne(peer, http, port)).then((all) => {
    http[Symbol.dispose]();
    resolve(all);
  });
  return { first };
}

/** Stops to send, and reports. The message that is under way is waited for. */
export async function stopProbe(): Promise<ProbeResult> {
  if (!probing) throw new Error("There was no job that starts to probe");
  probing.stopped = true;
  const took = await probing.took;
  return { count: took.length, ...percentiles(took), max: Math.max(...took) };
}

async function sendUntilStopped(
  current: RunningProbe,
  send: () => Promise<number>,
): Promise<number[]> {
  const took: number[] = [];
  do {
    took.push(await send());
    await pause(PAUSE_MS);
  } while (!current.stopped);
  return took;
}

async function sendOne(
  peer: Connections,
  http: RawHttpConnection,
  port: number,
): Promise<number> {
  const arrived = peer.next(0);
  const message = { from_peer: "bench", to_peer: peer.id(0), text: "Still there?" };
  const from = performance.now();
  const [, at] = await Promise.all([http.send(requestBytes(port, "/notify", message)), arrived]);
  return at - from;
}
