/**
 * Many machines in one process: each has real keys, a card and a connection to the bus, announces
 * its peers, and confirms what it gets. They do without a daemon. Each line of input is a job.
 */

import { randomIds, systemClock } from "kit/core/clock.ts";
import { jsonLog } from "kit/core/log.ts";
import { sealBeat } from "../../../daemon/machines/directory/beat.ts";
import { type Entry, fromBytes, toBytes } from "../../../daemon/machines/directory/entry.ts";
import { CALL } from "../../../daemon/machines/directory/machine_directory.ts";
import { RENEW_MS } from "../../../daemon/machines/directory/own_entry.ts";
import { decodeBatch, encodeBatch } from "../../../daemon/machines/links/batch.ts";
import { openAnnouncement, sealAnnouncement } from "../../../daemon/machines/trust/announcement.ts";
import type { Card } from "../../../daemon/machines/trust/cards.ts";
import { type NetworkKeys, networkKeysOf } from "../../../daemon/machines/trust/network.ts";
import type { Bus } from "../../../daemon/machines/bus.ts";
import { openNatsBus } from "../../../daemon/machines/nats/nats_bus.ts";
import { makeMachine, type TrustedMachine } from "../../support/machines/trusted_machines.ts";
import { TextLineStream } from "../../support/programs/lines.ts";

const CONNECT_MS_MAX = 60_000;
const POLL_MS = 20;

/** Machines to connect. They use the connection of the server's admin, who may do everything. */
export interface MachinesJob {
  readonly url: string;
  readonly seed: string;
  readonly network_secret: string;
  readonly names: readonly string[];
  readonly peers: number;
  /** The real machine, which writes to the others. */
  readonly daemon_id: string;
}

const log = jsonLog(systemClock, "error", () => undefined);
const context = { clock: systemClock, ids: randomIds, log };
const buses: Bus[] = [];
/** Entries that came, and when the last one did. */
const received = { entries: 0, at: 0 };
let writer: Card | undefined;

const JOBS = { connect, connected: waitForConnections, received: () => received };

print({ ready: true });
for await (const line of Deno.stdin.readable.pipeThrough(new TextLineStream())) {
  const job = JSON.parse(line);
  print(await JOBS[job.kind as keyof typeof JOBS](job));
}
Deno.exit(0);

/** Resolves when all machines are connected, and each has announced its peers. */
async function connect(job: MachinesJob) {
  const network = networkKeysOf(job.network_secret);
  for (const name of job.names) await join(job, network, name);
  return await waitForConnections();
}

async function join(job: MachinesJob, network: NetworkKeys, name: string): Promise<void> {
  const machine = makeMachine(network, { name });
  const { daemon_id } = machine;
  const peers = Array.from({ length: job.peers }, (_, at) => sharedPeer(`peer-${at}`));
  const run = randomIds.hex(8);
  let seq = 0;
  let known_run: string | undefined;
  let entry: Uint8Array = new Uint8Array();
  const announce = async () => {
    const body = toBytes({
      at: systemClock.now(),
      mesh_version: "1.0.0",
      peers,
      human: null,
      run,
      seq: ++seq,
      revision: 1,
      beats: true,
      leaves: false,
    });
    entry = sealAnnouncement({ card: machine.card, body }, machine.keys, network, randomIds);
    await bus.announce(entry);
  };
  const beat = () =>
    bus.beat(
      sealBeat(daemon_id, { run, seq: ++seq, revision: 1 }, machine.keys, network, randomIds),
    );
  const options = { url: job.url, credentials: { seed: job.seed }, daemonId: daemon_id, name };
  const bus = openNatsBus(context, options, {
    batch: (from, batch) => confirm(bus, machine, from, batch),
    // Answers only the request for the entry; nothing measures the way to this machine.
    call: (_, frame) => Promise.resolve(frame[0] === CALL.ask ? entry : null),
    announced: (id, announced) => {
      if (id !== job.daemon_id || !announced) return;
      const opened = openAnnouncement(id, network, announced);
      writer ??= opened?.card;
      const parsed = opened && fromBytes(opened.body);
      if (!parsed?.ok || parsed.entry.run === known_run) return;
      // A machine that starts gets the entries that the bus no longer shows.
      known_run = parsed.entry.run;
      const frame = Uint8Array.of(CALL.entry, ...entry);
      void bus.call(id, frame, CONNECT_MS_MAX).catch(() => undefined);
    },
    changed: ({ status }) => {
      if (status === "connected") void announce();
    },
  });
  buses.push(bus);
  const phase_ms = Number.parseInt(randomIds.hex(4), 16) % RENEW_MS;
  const renew = () => {
    if (bus.status().status === "connected") void beat();
  };
  setTimeout(() => setInterval(renew, RENEW_MS), phase_ms);
  await waitForConnections();
}

/** Waits until all machines are connected. */
async function waitForConnections() {
  const end = systemClock.now() + CONNECT_MS_MAX;
  while (buses.some((bus) => bus.status().status !== "connected")) {
    if (systemClock.now() > end) throw new Error("Not all machines have connected");
    await systemClock.sleep(POLL_MS);
  }
  return { connected: buses.length };
}

/** Tells the sender that all entries of a batch were applied. */
async function confirm(
  bus: Bus,
  { envelopes }: TrustedMachine,
  from: string,
  sealed: Uint8Array,
): Promise<void> {
  const bytes = writer && envelopes.openFrom(writer, "batch", sealed);
  const batch = bytes ? decodeBatch(bytes) : undefined;
  const last = batch?.entries.at(-1);
  if (!writer || !batch || !last) return;
  received.entries += batch.entries.length;
  received.at = systemClock.now();
  const applied = last.tag;
  const none = { resend: false, confirm: false, lost: false };
  const answer = { previous: null, entries: [], applied, ...none };
  const envelope = envelopes.sealFor(writer, "batch", encodeBatch(answer));
  await bus.publish(from, randomIds.hex(16), envelope);
}

function sharedPeer(name: string): Entry["peers"][number] {
  return {
    peer_id: randomIds.next("peer"),
    id_proof: null,
    name,
    circle: "bench",
    backend: "claude-code",
    model: "some-model-4",
    role: "agent",
    status: "online",
    turn_state: "idle",
    waits_for: null,
    description: "Works on the part of the product that is measured here, and on its tests.",
    folder: "product",
    last_seen: systemClock.now(),
  };
}

function print(report: unknown): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
}
