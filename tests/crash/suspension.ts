/** Suspends a real daemon while peers are connected, requests arrive and work becomes due. */

import { RealDaemon, temporary } from "../support/programs/child.ts";
import { pause } from "../support/programs/process_facts.ts";
import { until } from "../support/waiting.ts";
import { Client } from "./client.ts";

const REQUESTS = 40;

export interface SuspensionOutcome {
  /** Requests sent meanwhile that were not answered with 200 afterwards. */
  readonly unanswered: number;
  readonly undelivered: number;
  readonly delivered_twice: number;
  /** Peers that were reported offline, or whose socket was closed. */
  readonly peers_lost: number;
  /** Fires of a schedule beyond the one that was due. */
  readonly fired_twice: number;
}

export async function suspend(seconds: number): Promise<SuspensionOutcome> {
  using state = temporary();
  await using daemon = await RealDaemon.start(state.path);
  const clients = [
    new Client("careful", { receipts: true }),
    new Client("plain", { receipts: false }),
  ];
  for (const client of clients) await client.connect(daemon.port);
  const [careful] = clients;
  await post(daemon, "/schedules", {
    from_peer: "lane",
    to_peer: careful?.peer_id,
    text: "scheduled",
    fire_at: new Date(Date.now() + seconds * 500).toISOString(),
  });
  Deno.kill(daemon.pid, "SIGSTOP");
  const sent = Array.from({ length: REQUESTS }, (_, number) =>
    post(daemon, "/notify", {
      from_peer: `sender-${number}`,
      to_peer: clients[number % clients.length]?.peer_id,
      text: `message ${number}`,
    }));
  await pause(seconds * 1000);
  Deno.kill(daemon.pid, "SIGCONT");
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  const received = () => clients.flatMap((client) => [...client.received.values()]);
  const isComplete = () => received().length >= REQUESTS + 1;
  await until("all messages", isComplete).catch(() => undefined);
  await pause(1500); // Another tick would fire again, or close a socket.
  const offline = await (await fetch(`${daemon.base}/events?type=peer_offline`)).json();
  const scheduled = received().filter(({ content }) => content === "scheduled");
  const outcome = {
    unanswered: statuses.filter((status) => status !== 200).length,
    undelivered: REQUESTS + 1 - new Set(received().map(({ content }) => content)).size,
    delivered_twice: received().filter(({ times }) => times > 1).length,
    peers_lost: offline.events.length + clients.filter(({ isOpen }) => !isOpen).length,
    fired_twice: Math.max(0, scheduled.length - 1),
  };
  for (const client of clients) await client.disconnect();
  return outcome;
}

async function post({ base }: RealDaemon, path: string, body: unknown) {
  const response = await fetch(base + path, { method: "POST", body: JSON.stringify(body) });
  return { status: response.status, ...await response.json() };
}
