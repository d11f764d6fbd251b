/** Verbs about peers: they connect, register, change and leave. */

import type { Storm, Verb } from "../storm.ts";

/** More unread bytes than the daemon tolerates. */
const TOO_MANY_BYTES = 17 * 1024 * 1024;
/** A process that is alive in every storm. */
const LIVE_PID = 77;

// deno-fmt-ignore
export const PEER_VERBS: readonly Verb[] = [
  { name: "connect",           weight: 24, run: (storm) => connect(storm, true) },
  { name: "connect without receipts",   weight: 8,  run: (storm) => connect(storm, false) },
  { name: "supersede",         weight: 4,  run: reconnect },
  { name: "drop",              weight: 8,  run: (storm) => storm.actor().drop() },
  { name: "read too slowly",   weight: 1,  run: readTooSlowly },
  { name: "register",          weight: 6,  run: (storm) => register(storm) },
  { name: "reclaim",           weight: 3,  run: registerRetired },
  { name: "register an agent",    weight: 8,  run: (storm) => register(storm, storm.chance.pick(storm.agents)) },
  { name: "touch",             weight: 3,  run: (storm) => postToPeer(storm, "touch", {}) },
  { name: "offline",           weight: 3,  run: (storm) => postToPeer(storm, "offline", { reason: "session_end" }) },
  { name: "terminal offline",  weight: 1,  run: (storm) => postToPeer(storm, "offline", { terminal: true }) },
  { name: "delete",            weight: 1,  run: (storm) => withPeer(storm, (id) => storm.remove(`/peers/${id}`)) },
  { name: "unregister",        weight: 1,  run: (storm) => withPeer(storm, (id) => storm.post("/peer/unregister", { peer_id: id })) },
  { name: "lose addressability", weight: 2, run: (storm) => postToPeer(storm, "provenance", { addressable: false }) },
  { name: "regain addressability",         weight: 8,  run: (storm) => postToPeer(storm, "provenance", { addressable: true }) },
  { name: "rename",            weight: 2,  run: rename },
];

async function connect(storm: Storm, receipts: boolean): Promise<void> {
  const disconnected = storm.actors.filter(({ isConnected: connected }) => !connected);
  if (disconnected.length === 0) return;
  const actor = storm.chance.pick(disconnected);
  const claim = actor.peer_id && storm.chance.oneIn(4) ? { peer_id: actor.peer_id } : {};
  await actor.connect(storm.w, claim, receipts);
}

/** Opens a newer connection of the same peer, with its certificate. */
async function reconnect(storm: Storm): Promise<void> {
  const actor = storm.chance.pick(storm.actors);
  const { certificate: birth_certificate } = actor;
  if (birth_certificate) await actor.connect(storm.w, { birth_certificate }, true);
}

async function readTooSlowly(storm: Storm): Promise<void> {
  const { socket } = storm.actor();
  if (!socket) return;
  socket.buffered = TOO_MANY_BYTES;
  // A full buffer is tolerated for one second.
  for (let second = 0; second < 2; second++) await storm.w.tick();
}

export async function register(storm: Storm, actor = storm.actor()): Promise<void> {
  const { peer_id } = actor;
  const claim = peer_id && storm.chance.oneIn(2) ? { peer_id } : {};
  const answer = await storm.post("/peers", { ...storm.registrationOf(actor), ...claim });
  if (answer.http !== 200 || actor.isConnected) return;
  actor.peer_id = String(answer["peer_id"]);
  actor.certificate = String(answer["birth_certificate"]);
}

/** Reclaims a retired identity: with a live process, or without one, which is refused. */
async function registerRetired(storm: Storm): Promise<void> {
  const actor = storm.actor();
  const { peer_id } = actor;
  if (!peer_id) return;
  storm.processes.start(LIVE_PID);
  const process = storm.chance.oneIn(2) ? { agent_pid: LIVE_PID } : {};
  await storm.post("/peers", { ...storm.registrationOf(actor), peer_id, ...process });
}

async function rename(storm: Storm): Promise<void> {
  const name = storm.chance.pick(["ann", storm.actor().name]);
  await postToPeer(storm, "name", { name });
}

function postToPeer(storm: Storm, verb: string, body: Record<string, unknown>) {
  return withPeer(storm, (id) => storm.post(`/peers/${id}/${verb}`, body));
}

async function withPeer(storm: Storm, work: (peer_id: string) => Promise<unknown>): Promise<void> {
  const { peer_id } = storm.actor();
  if (peer_id) await work(peer_id);
}
