/** `mesh top`: a live table of peers, their waiting messages and the message rate. */

import { pause } from "kit/core/timeout.ts";
import type { Call } from "kit/http/client.ts";
import { listDeliveries, listPeers } from "protocol/generated/endpoints.ts";
import { type Args, type Command, type CommandContext, JSON_FLAG } from "../../command/command.ts";
import { EXIT } from "../../client/failures.ts";
import { isUnreachable } from "../../client/daemon_client.ts";
import { styled, type Terminal, toPlainText } from "../../output/terminal.ts";
import { formatDuration } from "../../output/time.ts";
import { viaOf } from "../../output/views.ts";
import { QUIT_KEYS, quitHint, untilQuit } from "../../command/quit_key.ts";

const REFRESH_INTERVAL_MS = 2_000;
/** Number of the newest waiting messages that are fetched, in order to count them per peer. */
const QUEUED_MAX = "500";
/** Moves the cursor home and clears the screen. */
const CLEAR_SCREEN = "\u001b[H\u001b[2J";

export const TOP_COMMAND: Command = {
  usage: "top",
  summary: "Show peers, waiting messages and the message rate live, until you press q",
  flags: { "--once": "print once and exit, as when the output is not a terminal", ...JSON_FLAG },
  example: "mesh top",
  run: top,
};

interface Row {
  readonly name: string;
  readonly circle: string;
  readonly status: string;
  readonly turn_state: string | null;
  readonly transport: string;
  /** The transport in words; empty if no messages are to reach the peer now. */
  readonly via: string;
  /** Messages waiting for the peer. */
  readonly queued: number;
  /** Open asks to the peer. */
  readonly open_asks: number;
  readonly oldest_ask_seconds: number | null;
}

export interface Frame {
  readonly peers: readonly Row[];
  readonly messages: number;
  readonly queued: number;
  readonly unproved: number;
  /** The rate since the previous frame; null in the first frame. */
  readonly messages_per_second: number | null;
}

async function top(context: CommandContext, args: Args): Promise<number> {
  const { call, terminal } = context;
  if (args.flag("json") || args.flag("once") || terminal.device.columns === undefined) {
    const frame = await fetchFrame(call);
    if (args.flag("json")) terminal.printJson(frame);
    else drawFrame(terminal, frame);
    return EXIT.done;
  }
  const keys: ShownKeys = { shown: false, redraw: () => undefined };
  const explain = () => {
    keys.shown = !keys.shown;
    keys.redraw();
  };
  await untilQuit(context, (signal) => drawLive(context, signal, keys), explain);
  return EXIT.done;
}

interface ShownKeys {
  /** True if the keys are listed below the table. */
  shown: boolean;
  /** Ends the pause before the next frame. */
  redraw: () => void;
}

/** Redraws until the signal aborts. Throws only when the first frame fails. */
export async function drawLive(
  { call, terminal, clock }: Pick<CommandContext, "call" | "terminal" | "clock">,
  signal: AbortSignal,
  keys: ShownKeys = { shown: false, redraw: () => undefined },
): Promise<void> {
  let previous: { messages: number; at: number } | undefined;
  for (let first = true; !signal.aborted; first = false) {
    const at = clock.monotonic();
    try {
      const frame = await fetchFrame(call, previous && { ...previous, now: at });
      terminal.device.out(CLEAR_SCREEN);
      const footer = keys.shown ? QUIT_KEYS : [quitHint(terminal)];
      drawFrame(terminal, frame, footer);
      if (!previous || at - previous.at >= REFRESH_INTERVAL_MS) {
        previous = { messages: frame.messages, at };
      }
    } catch (error) {
      if (first || !isUnreachable(error)) throw error;
      terminal.device.out(CLEAR_SCREEN);
      terminal.print(styled("yellow", "Lost the daemon; waiting for it"));
      previous = undefined;
    }
    const woken = new AbortController();
    keys.redraw = () => woken.abort();
    await pause(clock, REFRESH_INTERVAL_MS, AbortSignal.any([signal, woken.signal]));
  }
}

async function fetchFrame(
  call: Call,
  previous?: { readonly messages: number; readonly at: number; readonly now: number },
): Promise<Frame> {
  const { peers } = await call(listPeers, { query: { subagents: "false" } });
  const counted = await call(listDeliveries, { query: { limit: "1" } });
  const { counts, total: messages, unproved } = counted;
  const query = { state: "queued", limit: QUEUED_MAX } as const;
  const { deliveries } = await call(listDeliveries, { query });
  const waiting = Map.groupBy(deliveries, ({ to_peer_id }) => to_peer_id);
  const rows = peers.filter(({ status }) => status !== "retired").map((peer): Row => ({
    name: peer.transport === "bus" ? peer.display_name : peer.name,
    circle: peer.circle,
    status: peer.status,
    turn_state: peer.turn_state,
    transport: peer.transport,
    via: toPlainText(viaOf(peer)),
    queued: waiting.get(peer.peer_id)?.length ?? 0,
    open_asks: peer.pending_ask_count,
    oldest_ask_seconds: peer.oldest_pending_age_seconds,
  }));
  // Expired messages are deleted between two frames, so the total may go down.
  const rate = previous &&
    Math.max(0, messages - previous.messages) * 1000 / (previous.now - previous.at);
  return {
    peers: rows.sort((a, b) => b.queued - a.queued || b.open_asks - a.open_asks),
    messages,
    queued: counts["queued"] ?? 0,
    unproved,
    messages_per_second: rate ?? null,
  };
}

/** Rows of the screen that are no peers: the sums, the titles, and what surrounds the footer. */
const OTHER_ROWS = 6;

/** Draws as many peers as fit above the footer. */
function drawFrame(to: Terminal, frame: Frame, footer: readonly string[] = []): void {
  const rows = footer.length > 0 ? to.device.screen?.size().rows : undefined;
  const shown = rows === undefined
    ? frame.peers
    : frame.peers.slice(0, Math.max(1, rows - OTHER_ROWS - footer.length));
  const { peers, messages, queued, unproved, messages_per_second: rate } = frame;
  const rateText = rate === null ? "" : `, ${rate.toFixed(1)} per second`;
  const waitingText = styled(queued > 0 ? "yellow" : "green", `${queued} waiting`);
  to.print(
    `${peers.length} peers, ${messages} messages${rateText}, `,
    waitingText,
    `, ${unproved} unproved`,
  );
  to.print();
  to.printTable(shown, {
    NAME: ({ name }) => styled("cyan", name),
    CIRCLE: ({ circle }) => circle,
    STATUS: ({ status }) => styled(status === "online" ? "green" : "dim", status),
    TURN: ({ turn_state }) => turn_state?.replaceAll("_", " ") ?? "",
    VIA: ({ via }) => via,
    WAIT: ({ queued }) => String(queued || ""),
    ASKS: ({ open_asks }) => String(open_asks || ""),
    OLDEST: ({ oldest_ask_seconds: age }) => age === null ? "" : formatDuration(age * 1000),
  }, { whole: ["NAME"], empty: "No peers yet." });
  if (shown.length < peers.length) {
    to.print(styled("dim", `and ${peers.length - shown.length} more: mesh peers`));
  }
  if (footer.length > 0) to.print();
  for (const line of footer) to.print(styled("dim", line));
}
