/** Threads of the log: their messages, their day, and the threads that stay while they are read. */

import type { Message } from "../../state/records.ts";

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

const DAY_MS = 86_400_000;

/** The local day of an instant in words. A day of another year has its year. */
export function dayOf(instant: string, now: number): string {
  const at = new Date(instant), today = new Date(now);
  const days = Math.round((midnight(today) - midnight(at)) / DAY_MS);
  if (days === 0) return "Today";
  if (days === 1) return "Yesterday";
  const isThisYear = at.getFullYear() === today.getFullYear();
  return at.toLocaleDateString(undefined, {
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(isThisYear ? {} : { year: "numeric" }),
  });
}

function midnight(at: Date): number {
  return new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
}

/** An ask is open until it is closed; any other message has only its delivery. */
export function stateOf({ kind, state, closed_at, outcome }: Message): string {
  return kind === "ask" && closed_at !== null ? outcome ?? "closed" : state;
}
