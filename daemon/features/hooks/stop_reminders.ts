/** The reminder that a stop hook gives: it keeps the turn going, once. */

import type { Context } from "../../data/context.ts";
import { Name } from "kit/core/schema.ts";
import type { Ask } from "protocol/asks/contract.ts";
import type { AskReminders } from "../asks/reminders.ts";

/** Maximum sessions remembered. Beyond it, the oldest session may be reminded twice in a row. */
const SESSIONS_MAX = 1_000;

export class StopReminders {
  readonly #ctx: Context;
  readonly #asks: AskReminders;
  /** The sessions whose last stop was held. Their next stop is not. */
  readonly #held = new Set<string>();

  constructor(ctx: Context, asks: AskReminders) {
    this.#ctx = ctx;
    this.#asks = asks;
  }

  /** The reminder for a session that ends its turn; null if it may stop. */
  atStop(session_id: string, peer_id: string): string | null {
    if (this.#held.has(session_id)) {
      this.release(session_id);
      return null;
    }
    const asks = this.#asks.remind(peer_id);
    if (asks.length === 0) return null;
    this.#ctx.db.afterCommit(() => this.#hold(session_id));
    return toReminder(asks);
  }

  /** A session began a new turn, or has ended. */
  release(session_id: string): void {
    this.#ctx.db.afterCommit(() => this.#held.delete(session_id));
  }

  #hold(session_id: string): void {
    this.#held.add(session_id);
    const [oldest] = this.#held;
    if (this.#held.size > SESSIONS_MAX && oldest !== undefined) this.#held.delete(oldest);
  }
}

/** The daemon is the author of the text, so it quotes only plain names of peers. */
function toReminder(asks: readonly Ask[]): string {
  const lines = asks.map(({ correlation_id, from_peer_name, question }) => {
    const from = Name.safeParse(from_peer_name).success ? ` from @${from_peer_name}` : "";
    return `- ${correlation_id}${from}: ${question ? "the tool answer" : "the tool ack"}`;
  });
  return [
    "[mesh] You are ending your turn, and these asks to you have no answer yet:",
    ...lines,
    "Answer each with that tool of mesh, or refuse it with the tool decline. In a shell: " +
    'mesh ack ID "TEXT", mesh decline ID "REASON"; the text of an ask: mesh show ID. If you ' +
    "cannot answer now, just end your turn: this is said only once.",
  ].join("\n");
}
