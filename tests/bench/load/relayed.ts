/** Jobs that send the same to a daemon directly and over its relay. */

import { pause } from "../../support/programs/process_facts.ts";
import { type Job, PACE_MS, percentiles, TEXT, WARM_UP } from "./job.ts";
import { messageTo } from "./messages.ts";
import { Connections } from "./websocket_peers.ts";

const BURST = 1000;

/** A request that does not end before the relay does. */
let hanging: Promise<Response> | undefined;

/** The same ask by two ways in turn; then a thousand at once by the second, while one hangs. */
export async function ways(job: Job) {
  const { port, peers, count, path, cookie } = job;
  const crowd = await Connections.of(job);
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
  const [direct, relayed] = await inTurn(count, [
    (index) => ask(`http://127.0.0.1:${port}`, index),
    (index) => ask(path, index),
  ]);
  await (hanging ??= fetch(`${path}/events/stream`, { headers }));
  const from = performance.now();
  await Promise.all(Array.from({ length: BURST }, (_, index) => ask(path, index)));
  const burst_ms = performance.now() - from;
  return { direct, relayed, burst_ms };
}

/** A call of a tool that sends a message: of the daemon's own MCP server, and of the relay's. */
export async function toolCalls(job: Job) {
  const { port, peers, count, path, token, daemon_id } = job;
  const crowd = await Connections.of(job);
  const call = async (url: string, name: string, args: unknown, headers: HeadersInit) => {
    const params = { name, arguments: args };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const from = performance.now();
    const answer = await (await fetch(url, { method: "POST", headers, body })).json();
    if (answer.error || answer.result.isError) throw new Error(JSON.stringify(answer));
    return performance.now() - from;
  };
  const json = { "content-type": "application/json", accept: "application/json" };
  const authorized = { ...json, authorization: `Bearer ${token}` };
  const peerAt = (index: number) => crowd.id(index % peers);
  const [direct, relayed] = await inTurn(count, [
    (index) => {
      const args = { peer: peerAt(index), message: TEXT };
      return call(`http://127.0.0.1:${port}/mcp`, "notify_peer", args, json);
    },
    (index) => {
      const args = { daemon_id, peer_id: peerAt(index), message: TEXT };
      return call(`${path}/mcp`, "send_message", args, authorized);
    },
  ]);
  return { direct, relayed };
}

type Ways<T> = readonly [T, T];

/** Sends `count` by each way in turn after a warm-up; `send` returns how long one took. */
async function inTurn(
  count: number,
  ways: Ways<(index: number) => Promise<number>>,
): Promise<Ways<ReturnType<typeof percentiles>>> {
  const took: Ways<number[]> = [[], []];
  for (let index = 0; index < count + WARM_UP; index++) {
    for (const [way, send] of ways.entries()) {
      const ms = await send(index);
      if (index >= WARM_UP) took[way]?.push(ms);
      await pause(PACE_MS);
    }
  }
  return [percentiles(took[0]), percentiles(took[1])];
}
