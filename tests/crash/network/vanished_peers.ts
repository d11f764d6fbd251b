/** Peers whose sockets stay open although nobody is there: pings find them. */

import { RealDaemon, temporary } from "../../support/programs/child.ts";
import { pause } from "../../support/programs/process_facts.ts";
import { until } from "../../support/waiting.ts";

const PEERS = 20;
/** Three pings of 20 s, and some time for a busy machine. */
const FOUND_MS_MAX = 90_000;
const POLL_MS = 500;

export interface VanishedOutcome {
  readonly peers: number;
  readonly still_online: number;
  /** Messages to clients with receipts that were not queued again. */
  readonly not_queued_again: number;
  /** Messages to clients without receipts that may have been read, and are sent to nobody else. */
  readonly not_kept_as_sent: number;
  readonly seconds: number;
}

/** Connects peers that never answer, sends each a message, and waits until they are found. */
export async function vanish(): Promise<VanishedOutcome> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const sockets = await Promise.all(
    Array.from({ length: PEERS }, (_, number) => connect(daemon, number)),
  );
  for (let number = 0; number < PEERS; number++) {
    const body = JSON.stringify({ from_peer: "ada", to_peer: nameOf(number), text: "hello" });
    const response = await fetch(`${daemon.base}/notify`, { method: "POST", body });
    await response.body?.cancel();
  }
  await pause(POLL_MS);
  const started = performance.now();
  const online = async () => {
    const { peers } = await (await fetch(`${daemon.base}/peers`)).json();
    return peers.filter(({ status }: { status: string }) => status !== "offline").length;
  };
  await until("all peers to be offline", async () => await online() === 0, FOUND_MS_MAX, POLL_MS)
    .catch(() => undefined);
  const seconds = (performance.now() - started) / 1000;
  const { counts } = await (await fetch(`${daemon.base}/deliveries`)).json();
  const still_online = await online();
  for (const socket of sockets) socket.close();
  return {
    peers: PEERS,
    still_online,
    not_queued_again: PEERS / 2 - (counts.queued ?? 0),
    not_kept_as_sent: PEERS / 2 - (counts.sent ?? 0),
    seconds,
  };
}

/** Half of them send receipts, as a rule. */
async function connect({ base }: RealDaemon, number: number): Promise<WebSocket> {
  const socket = new WebSocket(`${base.replace("http", "ws")}/ws`);
  const capabilities = number % 2 === 0 ? ["delivery_receipts"] : [];
  const fields = { display_name: nameOf(number), backend: "sdk", path: "/work", capabilities };
  await new Promise((resolve) => socket.onopen = resolve);
  const answered = new Promise((resolve) => socket.onmessage = resolve);
  socket.send(JSON.stringify({ type: "connect", ...fields }));
  await answered;
  socket.onmessage = null;
  return socket;
}

function nameOf(number: number): string {
  return `vanished-${number}`;
}
