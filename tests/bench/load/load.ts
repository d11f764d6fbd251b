/** The load generator, a process of its own: each line of input is a job, answered by one line. */

import { TextLineStream } from "../../support/programs/lines.ts";
import { floodAcross, repliesAcross } from "./across.ts";
import type { Job } from "./job.ts";
import { fanout, flood, latency, replies, steady } from "./messages.ts";
import { natsDurable, natsFlood, natsLatency, natsRequests } from "./nats.ts";
import { crowd, first, seed } from "./peers.ts";
import { probe, stopProbe } from "./probe.ts";
import { toolCalls, ways } from "./relayed.ts";
import { requestThroughTunnels } from "./tunnelled.ts";

const JOBS = {
  latency,
  flood,
  steady,
  replies,
  fanout,
  crowd,
  seed,
  first,
  ways,
  toolCalls,
  natsLatency,
  natsFlood,
  natsRequests,
  natsDurable,
  floodAcross,
  repliesAcross,
  probe,
  probed: stopProbe,
  tunnelled: requestThroughTunnels,
};

print({ ready: true });
for await (const line of Deno.stdin.readable.pipeThrough(new TextLineStream())) {
  const job = JSON.parse(line) as Job & { readonly kind: keyof typeof JOBS };
  print(await JOBS[job.kind](job));
}
Deno.exit(0);

function print(report: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
}
