/** `mesh top`: who is here, what waits for each and how fast messages go, drawn again and again. */

import type { Clock } from "kit/core/clock.ts";
import { pause } from "kit/core/timeout.ts";
import { listDeliveries } from "../../../daemon/features/messages/contract.ts";
import { listPeers } from "../../../daemon/features/peers/contract.ts";
import {
  type Command,
  interruptible,
  JSON_FLAG,
  type Session,
  type Words,
} from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { type Daemon, Unreachable } from "../../client/daemon_client.ts";
import { ink, print, printJson, printTable, type Terminal } from "../../output/print.ts";
import { spanOf } from "../../output/show.ts";

const EVERY_MS = 2_000;
/** What waits is told by recipient from the newest so many. */
const QUEUED_MAX = "500";
/** To the first cell, and nothing after it: the rest of the frame before. */
const CLEAR = "\u001b[H\u001b[2J";

export const TOP_COMMAND: Command = {
  words: "top",
  summary: "Watch who is here, what waits for each, and how fast messages go; Ctrl-C ends it",
  flags: { "--once": "one look, as where there is no terminal", ...JSON_FLAG },
  example: "mesh top",
  run: top,
};

interface Row {
  readonly name: string;
  readonly circle: string;
  readonly status: string;
  readonly turn_state: string | null;
  readonly transport: string;
  /** Messages that wait for it. */
  readonly queued: number;
  /** Asks that it owes a reply. */
  readonly open_asks: number;
  readonly oldest_ask_seconds: number | null;
}

export interface Frame {
  readonly peers: readonly Row[];
  readonly messages: number;
  readonly queued: number;
  readonly unproved: number;
  /** New messages since the frame before; null in the first one. */
  readonly messages_per_second: number | null;
}

async function top(session: Session, words: Words): Promise<number> {
  const { daemon, terminal, clock } = session;
  if (words.flag("json") || words.flag("once") || terminal.columns === undefined) {
    const frame = await look(daemon);
    if (words.flag("json")) printJson(terminal, frame);
    else draw(terminal, frame);
    return EXIT.done;
  }
  await interruptible((signal) => live({ daemon, terminal, clock, signal }));
  return EXIT.done;
}

interface Live {
  readonly daemon: Pick<Daemon, "call">;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Draws until the signal aborts. Only a first look that fails is an error. */
export async function live({ daemon, terminal, clock, signal }: Live): Promise<void> {
  let before: { messages: number; at: number } | undefined;
  for (let first = true; !signal.aborted; first = false) {
    const at = clock.now();
    try {
      const frame = await look(daemon, before && { ...before, now: at });
      terminal.out(CLEAR);
      draw(terminal, frame);
      before = { messages: frame.messages, at };
    } catch (fault) {
      if (first || !(fault instanceof Unreachable)) throw fault;
      terminal.out(CLEAR);
      print(terminal, ink("yellow", "The daemon is away; waiting"));
      before = undefined;
    }
    await pause(clock, EVERY_MS, signal);
  }
}

async function look(
  { call }: Pick<Daemon, "call">,
  before?: { readonly messages: number; readonly at: number; readonly now: number },
): Promise<Frame> {
  const { peers } = await call(listPeers, { query: {} });
  const answer = await call(listDeliveries, { query: { state: "queued", limit: QUEUED_MAX } });
  const { counts, total: messages, unproved, deliveries } = answer;
  const waiting = Map.groupBy(deliveries, ({ to_peer_id }) => to_peer_id);
  const rows = peers.filter(({ status }) => status !== "retired").map((peer): Row => ({
    name: peer.name,
    circle: peer.circle,
    status: peer.status,
    turn_state: peer.turn_state,
    transport: peer.transport,
    queued: waiting.get(peer.peer_id)?.length ?? 0,
    open_asks: peer.pending_ask_count,
    oldest_ask_seconds: peer.oldest_pending_age_seconds,
  }));
  // What was kept too long goes meanwhile, so that there may be fewer.
  const rate = before && Math.max(0, messages - before.messages) * 1000 / (before.now - before.at);
  return {
    peers: rows.sort((a, b) => b.queued - a.queued || b.open_asks - a.open_asks),
    messages,
    queued: counts["queued"] ?? 0,
    unproved,
    messages_per_second: rate ?? null,
  };
}

function draw(to: Terminal, frame: Frame): void {
  const { peers, messages, queued, unproved, messages_per_second: rate } = frame;
  const said = rate === null ? "" : `, ${rate.toFixed(1)} a second`;
  const waits = ink(queued > 0 ? "yellow" : "green", `${queued} wait`);
  print(
    to,
    `${peers.length} peers, ${messages} messages${said}, `,
    waits,
    `, ${unproved} unproved`,
  );
  print(to);
  printTable(
    to,
    [
      { title: "NAME", of: ({ name }) => ink("cyan", name), kept: true },
      { title: "CIRCLE", of: ({ circle }) => circle },
      { title: "STATUS", of: ({ status }) => ink(status === "online" ? "green" : "dim", status) },
      { title: "TURN", of: ({ turn_state }) => turn_state?.replaceAll("_", " ") ?? "" },
      { title: "VIA", of: ({ transport }) => transport },
      { title: "WAIT", of: ({ queued }) => String(queued || "") },
      { title: "ASKS", of: ({ open_asks }) => String(open_asks || "") },
      {
        title: "OLDEST",
        of: ({ oldest_ask_seconds: age }) => age === null ? "" : spanOf(age * 1000),
      },
    ],
    peers,
    "No peers yet.",
  );
}
