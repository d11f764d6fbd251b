/** The job that sends requests through a relay to many daemons at once. */

import { RawHttpConnection, requestBytes } from "../../support/programs/lean_http_client.ts";
import { cpuMs } from "../../support/programs/process_facts.ts";
import { type Job, percentiles } from "./job.ts";

export interface TunnelRates {
  readonly per_second: number;
  readonly cpu_us: number;
  readonly p50: number;
  readonly p99: number;
}

/** Requests to each daemon in turn, many in flight. */
export async function requestThroughTunnels(
  { port, pid, in_flight, seconds, tunnels }: Job,
): Promise<TunnelRates> {
  const requests = tunnels.map(({ daemon_id, cookie }) => {
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    return requestBytes(port, `/m/${daemon_id}/health`, undefined, headers);
  });
  const took: number[] = [];
  const cpu_from = cpuMs(pid);
  const from = performance.now();
  await Promise.all(Array.from({ length: in_flight }, async (_, lane) => {
    using http = await RawHttpConnection.open(port);
    for (let at = lane; performance.now() < from + seconds * 1000; at += in_flight) {
      const sent = performance.now();
      await http.send(requests[at % requests.length] ?? new Uint8Array());
      took.push(performance.now() - sent);
    }
  }));
  const elapsed = (performance.now() - from) / 1000;
  const cpu_us = (cpuMs(pid) - cpu_from) * 1000 / took.length;
  return { per_second: took.length / elapsed, cpu_us, ...percentiles(took) };
}
