/** The load of a soak: messages of every kind from people and agents, at a steady rate. */

import type { Chance } from "../support/seeded_random.ts";
import type { Ledger } from "./ledger.ts";
import type { PanePeers } from "./peers/pane_peers.ts";
import type { SoakPeer } from "./peers/soak_peer.ts";
import type { SoakDaemon } from "./soak_daemon.ts";

const TEXT = "Which port does the server of the tests listen on, and who starts it? ".repeat(3);
const FILE_BYTES = 20_000;
const INBOX_PAGE = 20;
/** Schedules fall due after so many seconds at most. */
const DUE_SECONDS_MAX = 20;

export interface LoadDeps {
  readonly daemon: SoakDaemon;
  readonly chance: Chance;
  readonly ledger: Ledger;
  readonly peers: readonly SoakPeer[];
  readonly panes: PanePeers;
}

export class Load {
  readonly #deps: LoadDeps;
  /** Number of runs of each verb. */
  readonly verbCounts = new Map<string, number>();

  constructor(deps: LoadDeps) {
    this.#deps = deps;
  }

  async step(): Promise<void> {
    const { name, run } = this.#deps.chance.weighted(VERBS);
    this.verbCounts.set(name, (this.verbCounts.get(name) ?? 0) + 1);
    await run(this.#deps);
  }
}

function anyPeer({ chance, peers, panes }: LoadDeps): string {
  const panePeers = panes.livePeers;
  if (panePeers.length > 0 && chance.oneIn(5)) return chance.pick(panePeers).peer_id;
  return chance.pick(peers).peer_id;
}

function text({ chance }: LoadDeps): string {
  return TEXT.slice(0, 40 + chance.below(TEXT.length - 40));
}

async function ask(deps: LoadDeps): Promise<void> {
  const { daemon, chance, ledger, peers } = deps;
  const [from, to] = [chance.pick(peers), chance.pick(peers)];
  if (from === to) return;
  const mode = chance.oneIn(3) ? { reply_delivery: "pull" } : {};
  const body = { from_peer: from.peer_id, to_peer: to.peer_id, text: text(deps), ...mode };
  const answer = await daemon.post("/ask", body);
  const id = answer?.status === 200 ? answer.body["correlation_id"] : undefined;
  ledger.acknowledge(id);
  if (typeof id !== "string" || !chance.oneIn(4)) return;
  await daemon.post(`/asks/${id}/wait`, { peer_id: from.peer_id, timeout_seconds: 2 });
}

async function notify(deps: LoadDeps): Promise<void> {
  const { daemon, chance, ledger, peers } = deps;
  const from_peer = chance.pick(peers).peer_id;
  const to_peer = anyPeer(deps);
  if (from_peer === to_peer) return;
  const answer = await daemon.post("/notify", { from_peer, to_peer, text: text(deps) });
  if (answer?.status === 200) ledger.acknowledge(answer.body["delivery_id"]);
}

async function broadcast(deps: LoadDeps): Promise<void> {
  const from_peer = deps.chance.pick(deps.peers).peer_id;
  await deps.daemon.post("/broadcast", { from_peer, circle: "soak", text: "Main is frozen" });
}

async function toHuman(deps: LoadDeps): Promise<void> {
  const { daemon, chance, ledger, peers } = deps;
  const from_peer = chance.pick(peers).peer_id;
  const path = chance.oneIn(2) ? "/ask" : "/notify";
  const answer = await daemon.post(path, { from_peer, to_peer: "sam", text: text(deps) });
  const { correlation_id, delivery_id } = answer?.body ?? {};
  if (answer?.status === 200) ledger.acknowledge(correlation_id ?? delivery_id);
}

/** The human reads all that is new, and answers it. */
export async function readInbox({ daemon }: LoadDeps): Promise<number> {
  const answer = await daemon.call("GET", `/inbox?unread=1&limit=${INBOX_PAGE}`);
  const items = answer?.body["items"];
  if (!Array.isArray(items)) return 0;
  for (const { item_id, kind } of items) {
    if (kind === "ask") await daemon.post(`/inbox/${item_id}/reply`, { text: "Yes, go ahead" });
    else await daemon.post(`/inbox/${item_id}/read`);
  }
  return items.length;
}

async function job({ daemon, chance, peers }: LoadDeps): Promise<void> {
  const workers = peers.filter(({ takes_jobs }) => takes_jobs);
  const assigned_peer = chance.pick(workers).peer_id;
  await daemon.post("/jobs", { title: "Tests", prompt: "Run the tests", assigned_peer });
}

async function schedule(deps: LoadDeps): Promise<void> {
  const { daemon, chance, peers } = deps;
  const due_ms = Date.now() + (2 + chance.below(DUE_SECONDS_MAX)) * 1000;
  const fire_at = new Date(due_ms).toISOString();
  const [from_peer, to_peer] = [chance.pick(peers).peer_id, chance.pick(peers).peer_id];
  if (from_peer === to_peer) return;
  await daemon.post("/schedules", { from_peer, to_peer, text: text(deps), fire_at });
}

/** Uploads a file, sends it to someone who reads it, and removes it. */
async function attachment(deps: LoadDeps): Promise<void> {
  const { daemon, chance, ledger, peers } = deps;
  const form = new FormData();
  form.set("file", new File([new Uint8Array(FILE_BYTES)], "report.bin"));
  const id = (await daemon.post("/attachments", form))?.body["id"];
  if (typeof id !== "string") return;
  const [from_peer, to_peer] = [chance.pick(peers).peer_id, chance.pick(peers).peer_id];
  const body = { from_peer, to_peer, text: text(deps), attachments: [id] };
  if (from_peer !== to_peer) {
    const answer = await daemon.post("/notify", body);
    if (answer?.status === 200) ledger.acknowledge(answer.body["delivery_id"]);
  }
  await daemon.call("DELETE", `/attachments/${id}`);
}

async function read({ daemon, chance }: LoadDeps): Promise<void> {
  const paths = [
    "/peers",
    "/jobs?view=summary",
    "/events?limit=50",
    "/messages?q=port",
    "/figures",
  ];
  await daemon.call("GET", chance.pick(paths));
}

/** A page's event stream, open for a moment. */
async function stream({ daemon, chance }: LoadDeps): Promise<void> {
  if (!daemon.isRunning) return;
  const signal = AbortSignal.timeout(200 + chance.below(800));
  try {
    const response = await fetch(`${daemon.base}/events/stream`, { signal });
    for await (const _ of response.body ?? []);
  } catch (error) {
    if (!(error instanceof DOMException) && !(error instanceof TypeError)) throw error;
  }
}

/** A peer goes, and comes back as itself. */
async function reconnect({ daemon, chance, peers }: LoadDeps): Promise<void> {
  const peer = chance.pick(peers);
  await peer.disconnect();
  if (daemon.isRunning) await peer.connect().catch(() => undefined);
}

interface Verb {
  readonly name: string;
  /** Weight of the verb, relative to the others. */
  readonly weight: number;
  readonly run: (deps: LoadDeps) => Promise<unknown>;
}

// deno-fmt-ignore
const VERBS: readonly Verb[] = [
  { name: "ask",               weight: 40, run: ask },
  { name: "notify",            weight: 40, run: notify },
  { name: "broadcast",         weight: 1,  run: broadcast },
  { name: "to the human",      weight: 4,  run: toHuman },
  { name: "read the inbox",    weight: 2,  run: readInbox },
  { name: "job",               weight: 2,  run: job },
  { name: "schedule",          weight: 4,  run: schedule },
  { name: "attachment",        weight: 2,  run: attachment },
  { name: "lists",             weight: 4,  run: read },
  { name: "event stream",      weight: 1,  run: stream },
  { name: "reconnect",         weight: 1,  run: reconnect },
  { name: "disturb a pane",    weight: 1,  run: ({ panes }) => panes.disturb() },
];
