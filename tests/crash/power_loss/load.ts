/** Everything that a daemon stores, sent to it on several connections at once. */

import { RawHttpConnection, requestBytes } from "../../support/programs/lean_http_client.ts";
import { RealDaemon } from "../../support/programs/child.ts";
import { Client } from "../client.ts";

const LANES = 6;
/** 1 in this many requests is a job, a schedule, an upload and so on; the others are messages. */
const OTHERS_EVERY = 12;
const FILE_BYTES = 20_000;

/** A request with its key and the ids that the daemon has answered. */
export interface AnsweredRequest {
  readonly path: string;
  readonly body: unknown;
  readonly key: string;
  readonly id: string;
}

/** Sends so many requests on each connection; returns the messages that were answered. */
export async function load(daemon: RealDaemon, requests: number): Promise<AnsweredRequest[]> {
  const clients = [
    new Client("careful", { receipts: true }),
    new Client("plain", { receipts: false }),
    new Client("away", { receipts: false }),
  ];
  for (const client of clients) await client.connect(daemon.port);
  await clients[2]?.disconnect();
  const answered: AnsweredRequest[] = [];
  const peers = clients.map(({ peer_id }) => peer_id);
  await Promise.all(
    Array.from({ length: LANES }, (_, lane) => send(daemon, { lane, requests, peers, answered })),
  );
  for (const client of clients) await client.disconnect();
  return answered;
}

interface Lane {
  readonly lane: number;
  readonly requests: number;
  readonly peers: readonly string[];
  readonly answered: AnsweredRequest[];
}

async function send(daemon: RealDaemon, { lane, requests, peers, answered }: Lane): Promise<void> {
  using http = await RawHttpConnection.open(daemon.port);
  const ask = async (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    JSON.parse(await http.send(requestBytes(daemon.port, path, body, headers)));
  for (let number = 0; number < requests; number++) {
    const text = `${lane} ${number} ${"x".repeat(150 + number % 7 * 500)}`;
    const isSelfAddressed = number % 4 === 1;
    const to_peer = peers[isSelfAddressed ? 0 : (lane + number) % peers.length];
    const from_peer = isSelfAddressed ? peers[0] : `lane-${lane}`;
    if (number % OTHERS_EVERY === lane) {
      await store(daemon, ask, { text, to_peer: peers[2] ?? "" });
      continue;
    }
    const [path, key] = [number % 2 === 0 ? "/notify" : "/ask", `key-${lane}-${number}`];
    const body = isSelfAddressed
      ? { from_peer: "lane", to_peer, text }
      : { from_peer, to_peer, text };
    const { correlation_id, delivery_id } = await ask(path, body, { "idempotency-key": key });
    answered.push({ path, body, key, id: correlation_id ?? delivery_id });
    if (!correlation_id || number % 4 !== 1) continue;
    await ask("/ack", { correlation_id, message: `reply to ${correlation_id}` });
    await ask(`/asks/${correlation_id}`);
  }
}

type Ask = (path: string, body?: unknown) => Promise<unknown>;

/** Creates an inbox item, a job, a schedule and an upload. */
async function store(
  { base }: RealDaemon,
  ask: Ask,
  { text, to_peer }: { text: string; to_peer: string },
): Promise<void> {
  await ask("/ask", { from_peer: "lane", to_peer: "sam", text });
  await ask("/jobs", { title: text.slice(0, 40), assigned_peer: to_peer, due_at: FAR });
  await ask("/schedules", { from_peer: "lane", to_peer, text, fire_at: FAR });
  const form = new FormData();
  form.append("file", new File([text.repeat(FILE_BYTES / text.length)], "notes.txt"));
  const uploaded = await fetch(`${base}/attachments`, { method: "POST", body: form });
  await uploaded.body?.cancel();
}

/** Nothing fires while the daemon is recorded. */
const FAR = new Date(Date.now() + 86_400_000).toISOString();

/** The settings of a daemon under this load. */
export const SETTINGS = {
  MESH_HUMAN__NAME: "sam",
  MESH_DAEMON__QUEUE__MAX_PER_PEER: "1000000",
};
