/** Messages that the daemon has acknowledged, and their final states in its database. */

import { DatabaseSync } from "node:sqlite";

/** The digits that all ids of a message share. */
function identOf(id: string): string {
  return id.split("-")[1] ?? "";
}

interface Row {
  readonly state: string;
  readonly reason: string | null;
  readonly ask_state: string | null;
  readonly close_reason: string | null;
}

export class Ledger {
  readonly #path: string;
  /** Acknowledged, and not ended yet: the digits of each id, and whether a check has found it. */
  readonly #open = new Map<string, boolean>();
  /** Number of messages in each state that isn't final, as of the last check. */
  waiting: ReadonlyMap<string, number> = new Map();
  /** Number of messages in each final state. */
  readonly ended = new Map<string, number>();
  /** Acknowledged, but not in the database. */
  readonly lost: string[] = [];
  acknowledged = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Records a message that the daemon has answered with 200. */
  acknowledge(id: unknown): void {
    if (typeof id !== "string") return;
    this.acknowledged++;
    this.#open.set(identOf(id), false);
  }

  /** Looks at every open message; what has ended properly is counted. */
  check(): void {
    using db = new DatabaseSync(this.#path, { readOnly: true });
    const byIdent = new Map<string, Row>();
    // There is no index on the digits alone: one pass reads all rows.
    const all = db.prepare("select ident, state, reason, ask_state, close_reason from messages");
    for (const { ident, state, reason, ask_state, close_reason } of all.iterate()) {
      const ended = { reason: text(reason), close_reason: text(close_reason) };
      byIdent.set(String(ident), { state: String(state), ask_state: text(ask_state), ...ended });
    }
    const waiting = new Map<string, number>();
    for (const [ident, wasFound] of this.#open) {
      const row = byIdent.get(ident);
      if (row) this.#open.set(ident, true);
      if (!row) {
        this.#open.delete(ident);
        // Retention removes only what has ended.
        if (wasFound) count(this.ended, "removed by retention");
        else this.lost.push(ident);
      } else if (hasEnded(row)) {
        this.#open.delete(ident);
        count(this.ended, nameOf(row));
      } else count(waiting, nameOf(row));
    }
    this.waiting = waiting;
  }

  get open(): number {
    return this.#open.size;
  }
}

const text = (value: unknown) => typeof value === "string" ? value : null;

/** Sent or further, or ended with a reason; an ask is closed with a reason. */
function hasEnded({ state, reason, ask_state, close_reason }: Row): boolean {
  if (ask_state !== null) return ask_state === "closed" && close_reason !== null;
  if (["sent", "accepted", "seen"].includes(state)) return true;
  return ["failed", "expired", "dropped"].includes(state) && reason !== null;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function nameOf({ state, reason, ask_state, close_reason }: Row): string {
  if (ask_state === "open") return `open ask, ${state}`;
  if (ask_state !== null) return `ask ${close_reason}`;
  return reason === null ? state : `${state} (${reason})`;
}
