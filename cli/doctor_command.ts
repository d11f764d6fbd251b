/** `mesh doctor`: how the daemon and its mesh are, and whether every message is accounted for. */

import type { Wire } from "kit/client.ts";
import type { Clock } from "kit/clock.ts";
import { listDeliveries } from "../daemon/delivery/contract.ts";
import type { Health } from "../daemon/events/contract.ts";
import { listPeers } from "../daemon/peers/contract.ts";
import { type Command, EXIT, JSON_FLAG, type Session, type Words } from "./command.ts";
import { healthOf } from "./lifecycle.ts";
import { ink, print, printFields, printJson, printTable, type Terminal } from "./print.ts";
import { spanOf } from "./show.ts";
import { reasonOf } from "./why.ts";

type Answer = Wire<typeof listDeliveries>;

/** What waits is told by recipient from the newest so many. */
const WAITING_MAX = "500";

export const DOCTOR: Command = {
  words: "doctor",
  summary: "Say how the daemon and its mesh are, and what is wrong",
  flags: {
    "--audit": "count all messages, and name each that is not accounted for",
    ...JSON_FLAG,
  },
  example: "mesh doctor --audit",
  run: doctor,
};

interface Waiting {
  readonly name: string;
  readonly count: number;
  readonly oldest: string;
  readonly reason: string | null;
}

/** 1 when a message is not accounted for: that is a fault of the daemon. */
async function doctor({ daemon, terminal, clock }: Session, words: Words): Promise<number> {
  const health = await healthOf(daemon);
  const { peers } = await daemon.call(listPeers, { query: {} });
  const query = { state: "queued", limit: WAITING_MAX } as const;
  const answer = await daemon.call(listDeliveries, { query });
  const { counts, total, unproved, unaccounted } = answer;
  const waiting = waitingOf(answer);
  const by_status = Object.fromEntries(
    Map.groupBy(peers, ({ status }) => status).entries().map(([status, of]) => [status, of.length]),
  );
  const code = unaccounted.length === 0 ? EXIT.done : EXIT.refused;
  if (words.flag("json")) {
    const mesh = { peers: by_status, waiting, counts, total, unproved, unaccounted };
    printJson(terminal, { health, ...mesh });
    return code;
  }
  showState(terminal, daemon.url, { health, answer, peers: by_status });
  showWaiting(terminal, waiting, clock);
  if ((counts["queued"] ?? 0) > Number(WAITING_MAX)) {
    print(terminal, ink("dim", `Of the newest ${WAITING_MAX} that wait.`));
  }
  if (words.flag("audit")) showAudit(terminal, answer);
  else if (unaccounted.length > 0) {
    print(terminal, ink("red", `${unaccounted.length} not accounted for: mesh doctor --audit`));
  }
  return code;
}

function showState(
  to: Terminal,
  url: string,
  { health, answer, peers }: { health: Health; answer: Answer; peers: Record<string, number> },
): void {
  const { counts, unproved } = answer;
  printFields(to, {
    daemon: ink("green", "up"),
    url,
    version: `${health.version}, schema ${health.schema_version}`,
    pid: String(health.pid),
    "up for": spanOf(health.uptime_seconds * 1000),
    peers: told(peers) || "none",
    relay: health.relay.status,
    waiting: String(counts["queued"] ?? 0),
    unproved: unproved === 0 ? "0" : ink("yellow", `${unproved}: they went out without a proof`),
  });
}

function showWaiting(to: Terminal, waiting: readonly Waiting[], clock: Clock): void {
  if (waiting.length === 0) return;
  print(to);
  printTable(
    to,
    [
      { title: "WAITS FOR", of: ({ name }) => ink("cyan", name), kept: true },
      { title: "COUNT", of: ({ count }) => String(count) },
      { title: "OLDEST", of: ({ oldest }) => spanOf(clock.now() - Date.parse(oldest)) },
      { title: "WHY", of: ({ reason }) => reasonOf(reason) },
    ],
    waiting,
    "",
  );
}

function showAudit(to: Terminal, { counts, total, unaccounted }: Answer): void {
  print(to);
  const states = Object.entries(counts).map(([state, count]) => [state, String(count)]);
  printFields(to, { ...Object.fromEntries(states), total: String(total) });
  const none = unaccounted.length === 0;
  print(to, ink(none ? "green" : "red", `${unaccounted.length} unaccounted`));
  for (const { delivery_id, state, problem } of unaccounted) {
    print(to, "  ", ink("cyan", delivery_id), `  ${state}: ${problem.replaceAll("_", " ")}`);
  }
}

/** Who is waited for, most first. Deliveries come newest first. */
function waitingOf({ deliveries }: Answer): Waiting[] {
  const by_peer = Map.groupBy(deliveries, ({ to_peer_id }) => to_peer_id);
  return [...by_peer.values()].flatMap((of) => {
    const last = of.at(-1);
    if (!last) return [];
    const { to_peer_name: name, created_at: oldest, reason } = last;
    return [{ name, count: of.length, oldest, reason }];
  }).sort((a, b) => b.count - a.count);
}

function told(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts).map(([what, count]) => `${count} ${what}`).join(", ");
}
