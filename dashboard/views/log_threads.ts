/** Threads of the log: which messages belong together, and which stay while a person reads. */

import type { Message } from "../state/records.ts";

/** A message with its answers, oldest first. */
export interface Thread {
  readonly id: string;
  readonly first: Message;
  readonly rest: readonly Message[];
  /** The creation time of its newest message. */
  readonly newest_at: string;
}

/** Groups the messages of one ask; the thread with the newest message is first. */
export function toThreads(newest_first: readonly Message[]): Thread[] {
  const keyOf = ({ correlation_id, delivery_id }: Message) => correlation_id ?? delivery_id;
  return [...Map.groupBy(newest_first, keyOf)].flatMap(([id, group]) => {
    const [newest] = group;
    const [first, ...rest] = group.toReversed();
    return first && newest ? [{ id, first, rest, newest_at: newest.created_at }] : [];
  });
}

/**
 * The rows for a reader who has scrolled: they keep their places, with their present states, and
 * older rows are appended. `fresh` counts the threads that are held back.
 */
export function hold(
  frozen: readonly Thread[] | undefined,
  current: readonly Thread[],
): { readonly shown: readonly Thread[]; readonly fresh: number } {
  if (!frozen) return { shown: current, fresh: 0 };
  const now = new Map(current.map((thread) => [thread.id, thread]));
  const known = new Set(frozen.map(({ id }) => id));
  const others = current.filter(({ id }) => !known.has(id));
  const oldest = frozen.at(-1)?.newest_at ?? "";
  const older = others.filter(({ newest_at }) => newest_at <= oldest);
  const shown = [...frozen.map((thread) => now.get(thread.id) ?? thread), ...older];
  return { shown, fresh: others.length - older.length };
}

/** An ask is open until it is closed; any other message has only its delivery. */
export function stateOf({ kind, state, closed_at, outcome }: Message): string {
  return kind === "ask" && closed_at !== null ? outcome ?? "closed" : state;
}
