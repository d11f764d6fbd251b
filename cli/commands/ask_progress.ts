/**
 * Shows the progress of an ask on standard error, while `--wait` waits for its reply: each step in
 * one line on a terminal, and what the recipient waits for everywhere.
 */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { getTrace } from "protocol/generated/endpoints.ts";
import { isUnreachable } from "../client/daemon_client.ts";
import { watchEvents } from "../client/event_stream.ts";
import { unlessRejected } from "../client/failures.ts";
import type { CommandContext } from "../command/command.ts";
import { formatReason } from "protocol/derived/delivery_state.ts";
import { clean, type Device } from "../output/terminal.ts";
import { formatDuration } from "../output/time.ts";
import { peerOf } from "./waiting/peer_waits.ts";
import { waitSentence } from "protocol/derived/waits.ts";

export interface ShownAsk {
  readonly correlation_id: string;
  readonly to_peer_id: string;
  readonly to_peer_name: string;
}

type Stage = WireResponse<typeof getTrace>["stages"][number];

/** Shows the ask's progress in one line until `work` has ended. */
export async function withProgress<A>(
  context: CommandContext,
  ask: ShownAsk,
  work: () => Promise<A>,
): Promise<A> {
  const ended = new AbortController();
  const line = new ProgressLine(ask, context);
  const working = work();
  const shown = follow(context, ask, { line, signal: ended.signal });
  try {
    return await working;
  } finally {
    ended.abort();
    await shown;
    line.end();
  }
}

/**
 * Reads the trace and the recipient at first, and after each of their events. Ends quietly on any
 * refusal.
 */
async function follow(
  { call, daemon, clock, terminal: { device } }: CommandContext,
  { correlation_id, to_peer_id }: ShownAsk,
  { line, signal }: { line: ProgressLine; signal: AbortSignal },
): Promise<void> {
  const params = { trace_id: correlation_id };
  // The wait itself reports a daemon that is gone.
  const isExpected = (error: unknown) =>
    signal.aborted || error instanceof ApiError || isUnreachable(error);
  await unlessRejected(isExpected, async () => {
    for await (const { type, data } of watchEvents({ daemon, clock, signal })) {
      const isStep = type === "ready" ||
        type === "delivery" && isOf(data, "to_peer_id", to_peer_id);
      if (isStep && device.progress) {
        line.show((await call(getTrace, { params, signal })).stages);
      }
      const isTurn = type === "ready" || type === "turn" && isOf(data, "peer_id", to_peer_id);
      const peer = isTurn ? await peerOf(call, to_peer_id) : undefined;
      if (peer) line.showWait(waitSentence(peer));
    }
  });
}

function isOf(data: unknown, field: string, id: string): boolean {
  return typeof data === "object" && data !== null &&
    Object.entries(data).some(([name, value]) => name === field && value === id);
}

/** One line that grows: `sent to api → seen by api, 3s → waiting for its answer`. */
class ProgressLine {
  readonly #to: string;
  readonly #device: Device;
  readonly #shown = new Set<string>();
  #isWaiting = false;
  /** The sentence on what the recipient waits for. */
  #wait: string | undefined;

  constructor({ to_peer_name }: ShownAsk, { terminal }: CommandContext) {
    this.#to = to_peer_name;
    this.#device = terminal.device;
  }

  /** Shows what the recipient waits for, and the end of that wait. Without a terminal, in lines. */
  showWait(wait: string | undefined): void {
    if (wait === this.#wait) return;
    const text = wait ?? `${this.#to} goes on`;
    this.#wait = wait;
    if (this.#device.progress) this.#add("wait", text);
    else this.#device.err(`${clean(text)}\n`);
  }

  show(stages: readonly Stage[]): void {
    const started = Date.parse(stages[0]?.ts ?? "");
    for (const stage of stages) {
      const text = this.#textOf(stage);
      if (text === undefined || this.#shown.has(stage.stage)) continue;
      const elapsed_ms = Date.parse(stage.ts) - started;
      this.#add(stage.stage, elapsed_ms < 1000 ? text : `${text}, ${formatDuration(elapsed_ms)}`);
    }
    const hasArrived = this.#shown.has("accepted") || this.#shown.has("seen");
    if (!hasArrived || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#add("waiting", "waiting for its answer");
  }

  /** Ends the line, so that the answer begins on its own. */
  end(): void {
    if (this.#shown.size > 0) this.#device.err("\n");
  }

  #add(name: string, text: string): void {
    this.#device.err(clean(this.#shown.size === 0 ? text : ` → ${text}`));
    this.#shown.add(name);
  }

  #textOf({ stage, detail }: Stage): string | undefined {
    switch (stage) {
      case "queued":
        return detail === null ? undefined : `queued: ${formatReason(detail)}`;
      case "wake_asked":
        return `the human is asked whether to wake ${this.#to}`;
      case "waking":
        return `${this.#to} is being woken`;
      case "woken":
        return `${this.#to} is awake`;
      case "sent":
        return `sent to ${this.#to}`;
      case "accepted":
        return `accepted by ${this.#to}`;
      case "seen":
        return `seen by ${this.#to}`;
      case "unproved":
        return "not confirmed";
      default:
        return undefined;
    }
  }
}
