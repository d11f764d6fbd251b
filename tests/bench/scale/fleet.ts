/**
 * A fleet of daemons' ends of tunnels in one process: the product's relay client, its socket and
 * its dispatch of requests, without the rest of a daemon. Each line of input is a job.
 */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { Secret } from "kit/core/settings.ts";
import { jsonLog } from "kit/core/log.ts";
import { BackgroundWork } from "kit/core/background.ts";
import type { Context } from "../../../daemon/data/context.ts";
import { EventLog } from "../../../daemon/data/event_log.ts";
import { Database } from "kit/data/sqlite.ts";
import {
  CAPABILITIES,
  type OpenSocket,
  RelayClient,
} from "../../../daemon/api/relay/relay_client.ts";
import { socketsOf } from "../../../daemon/api/relay/relay_socket.ts";
import { answerTunnelRequest } from "../../../daemon/api/relay/tunnel_requests.ts";
import { migrations } from "../../../daemon/app/migrations/migrations.ts";
import { TextLineStream } from "../../support/programs/lines.ts";

const TICK_MS = 1000;
const WAIT_MS_MAX = 120_000;
const POLL_MS = 20;
/** New daemons of a job dial in groups of this size. */
const LANES = 50;

/** A daemon to connect. Its address is what the relay takes for its network. */
export interface FleetMember {
  readonly daemon_id: string;
  readonly secret: string;
  readonly address: string;
}

const log = jsonLog(systemClock, "error", () => undefined);
const db = new Database(":memory:", migrations, log, systemClock);
const events = new EventLog(db, systemClock, randomIds, log);
const background = new BackgroundWork(log);
const ctx: Context = { db, events, clock: systemClock, ids: randomIds, log, background };
const clients: RelayClient[] = [];
/** When each dial began. */
let dials: number[] = [];
const ANSWER = { status: "ok", daemon: "of the fleet" };
const answers = { log, tunnelRoutes: { browser: answer, program: answer, device: answer } };

const JOBS = { connect, wait, dials: reportDials };

print({ ready: true });
for await (const line of Deno.stdin.readable.pipeThrough(new TextLineStream())) {
  const job = JSON.parse(line);
  print(await JOBS[job.kind as keyof typeof JOBS](job));
}
Deno.exit(0);

function answer(): Promise<Response> {
  return Promise.resolve(Response.json(ANSWER));
}

async function connect({ url, members }: { url: string; members: readonly FleetMember[] }) {
  for (let from = 0; from < members.length; from += LANES) {
    for (const member of members.slice(from, from + LANES)) clients.push(clientOf(url, member));
    await untilConnected();
  }
  return { connected: clients.length };
}

/** A client that ticks once a second, at a moment of its own, as a daemon does. */
function clientOf(url: string, { daemon_id, secret, address }: FleetMember): RelayClient {
  const dial: OpenSocket = (to, headers, listener) => {
    dials.push(systemClock.now());
    return socketsOf({ env: {}, clock: systemClock })(to, {
      ...headers,
      "x-forwarded-for": address,
    }, listener);
  };
  const hello = {
    daemon_id,
    machine: "fleet",
    version: "1.0.0",
    capabilities: CAPABILITIES,
  };
  const access = { url, secret: new Secret(secret), daemon_id };
  const client = new RelayClient(ctx, { ...access, hello }, dial);
  client.start((connection, request) => void answerTunnelRequest(answers, connection, request));
  client.tick(systemClock.monotonic());
  const phase_ms = Number.parseInt(randomIds.hex(2), 16) % TICK_MS;
  setTimeout(() => setInterval(() => client.tick(systemClock.monotonic()), TICK_MS), phase_ms);
  return client;
}

/** Waits until no client is down: first for a loss, if the job says so. */
async function wait({ lost = false }: { lost?: boolean }) {
  const end = systemClock.now() + WAIT_MS_MAX;
  while (lost && countConnected() > 0 && systemClock.now() < end) await systemClock.sleep(POLL_MS);
  await untilConnected();
  return { connected: countConnected(), at: systemClock.now() };
}

async function untilConnected(): Promise<void> {
  const end = systemClock.now() + WAIT_MS_MAX;
  while (countConnected() < clients.length) {
    if (systemClock.now() > end) throw new Error(`Only ${countConnected()} daemons have connected`);
    await systemClock.sleep(POLL_MS);
  }
}

function countConnected(): number {
  return clients.filter((client) => client.report().status === "connected").length;
}

/** The dials since the last report. */
function reportDials() {
  const reported = dials;
  dials = [];
  return reported;
}

function print(report: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
}
