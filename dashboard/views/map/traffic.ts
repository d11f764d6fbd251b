/** The messages on the map: edges with their traffic, and steps with their times. */

import type { Message } from "../../state/records.ts";

/** The progress of a message. */
export const STAGES = ["created", "sent", "accepted", "seen"] as const;
export type Stage = typeof STAGES[number];

/** No transport has taken the message. */
const WAITING: readonly string[] = ["queued", "attempting"];

/** The traffic from one node to another. */
export interface Edge {
  readonly key: string;
  readonly from: string;
  readonly to: string;
  readonly count: number;
  /** Messages that no transport has taken yet. */
  readonly waiting: number;
  readonly open_asks: number;
  readonly last: Message;
}

/** A message that reached a stage. */
export interface Step {
  readonly at: number;
  readonly stage: Stage;
  readonly message: Message;
}

/** The node of a sender that is no peer: the daemon itself, or a command. */
const nodeOfName = (name: string) => `name:${name}`;

export function senderOf({ from_peer_id, from_peer_name }: Message): string {
  return from_peer_id ?? nodeOfName(from_peer_name);
}

export function keyOf(message: Message): string {
  return `${senderOf(message)} ${message.to_peer_id}`;
}

/** A message to oneself has no edge. Newest first, like the messages. */
export function edgesOf(messages: readonly Message[]): Edge[] {
  return [...Map.groupBy(messages, keyOf)].flatMap(([key, group]) => {
    const [last] = group;
    if (!last || senderOf(last) === last.to_peer_id) return [];
    const waiting = group.filter(({ state }) => WAITING.includes(state));
    const open = group.filter(({ kind, closed_at }) => kind === "ask" && closed_at === null);
    return [{
      key,
      from: senderOf(last),
      to: last.to_peer_id,
      count: group.length,
      waiting: waiting.length,
      open_asks: open.length,
      last,
    }];
  });
}

export function instantOf(message: Message, stage: Stage): number | undefined {
  const text = {
    created: message.created_at,
    sent: message.sent_at,
    accepted: message.accepted_at,
    seen: message.seen_at,
  }[stage];
  return text === null ? undefined : Date.parse(text);
}

/** The steps of messages, oldest first. */
export function stepsOf(messages: readonly Message[]): Step[] {
  const steps = messages.flatMap((message) =>
    STAGES.flatMap((stage): Step[] => {
      const at = instantOf(message, stage);
      return at === undefined ? [] : [{ at, stage, message }];
    })
  );
  const order = ({ stage }: Step) => STAGES.indexOf(stage);
  return steps.sort((a, b) => a.at - b.at || order(a) - order(b));
}

/** The stages that messages reached between two loads; nothing before the first load. */
export class StepWatcher {
  #reached: Map<string, number> | undefined;

  next(messages: readonly Message[]): { message: Message; stages: readonly Stage[] }[] {
    const before = this.#reached;
    const now = new Map<string, number>();
    const found: { message: Message; stages: readonly Stage[] }[] = [];
    for (const message of messages) {
      const reached = STAGES.filter((stage) => instantOf(message, stage) !== undefined);
      now.set(message.delivery_id, reached.length);
      const known = before?.get(message.delivery_id) ?? 0;
      if (before && reached.length > known) found.push({ message, stages: reached.slice(known) });
    }
    this.#reached = now;
    return found.reverse();
  }
}

/** A message as it was at a moment; `part` is its place on the edge. */
export interface InPlay {
  readonly message: Message;
  readonly stage: Stage;
  readonly part: number;
}

/** A step is shown for this long after it happened. */
const SHOWN_MS = 5000;
const PARTS: Readonly<Record<Stage, number>> = { created: 0.14, sent: 0.5, accepted: 0.8, seen: 1 };

/** The messages that were on their way at a moment, or had just arrived. */
export function inPlayAt(messages: readonly Message[], at: number): InPlay[] {
  return messages.flatMap((message): InPlay[] => {
    const reached = STAGES.filter((stage) => (instantOf(message, stage) ?? Infinity) <= at);
    const stage = reached.at(-1);
    if (stage === undefined) return [];
    const since = at - (instantOf(message, stage) ?? 0);
    // It waited if it was taken later, or waits now. For a failed message the time is unknown.
    const waits = stage === "created" && (WAITING.includes(message.state) ||
      STAGES.some((next) => (instantOf(message, next) ?? 0) > at));
    return since <= SHOWN_MS || waits ? [{ message, stage, part: PARTS[stage] }] : [];
  });
}

/** The number of messages created in each of the equal parts of a period. */
export function countsOf(
  messages: readonly Message[],
  { from, to, parts }: { from: number; to: number; parts: number },
): number[] {
  const counts = new Array<number>(parts).fill(0);
  for (const { created_at } of messages) {
    const part = Math.floor((Date.parse(created_at) - from) / (to - from) * parts);
    const count = counts[part];
    if (count !== undefined) counts[part] = count + 1;
  }
  return counts;
}
