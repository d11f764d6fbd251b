/** The job that sends the same ask to a daemon directly and over its relay. */

import { pause } from "../../support/programs/process_facts.ts";
import { type Job, PACE_MS, percentiles, WARM_UP } from "./job.ts";
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
  const took: [number[], number[]] = [[], []];
  for (let index = 0; index < count + WARM_UP; index++) {
    for (const [way, base] of [`http://127.0.0.1:${port}`, path].entries()) {
      const ms = await ask(base, index);
      if (index >= WARM_UP) took[way]?.push(ms);
      await pause(PACE_MS);
    }
  }
  await (hanging ??= fetch(`${path}/events/stream`, { headers }));
  const from = performance.now();
  await Promise.all(Array.from({ length: BURST }, (_, index) => ask(path, index)));
  const burst_ms = performance.now() - from;
  return { direct: percentiles(took[0]), relayed: percentiles(took[1]), burst_ms };
}
