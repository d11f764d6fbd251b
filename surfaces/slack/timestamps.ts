/** Slack's ids of messages, as Slack writes them and as refs that the daemon can order. */

import * as z from "zod";

/** Seconds and exactly six decimals, such as `1732112345.000200`. Slack orders messages by it. */
export const Timestamp = z.string().regex(/^\d{1,12}\.\d{6}$/);
export type Timestamp = z.output<typeof Timestamp>;

const DECIMALS = 6;

/**
 * The ref of a message: its timestamp without the dot. The daemon compares refs as decimal numbers,
 * and all timestamps have six decimals, so refs have the order of the messages.
 */
export function toRef(timestamp: Timestamp): string {
  return timestamp.replace(".", "").replace(/^0+(?=\d)/, "");
}

/** The timestamp of a ref; undefined if the ref cannot be from this surface. */
export function toTimestamp(ref: string): Timestamp | undefined {
  if (!/^\d{1,18}$/.test(ref)) return undefined;
  const digits = ref.padStart(DECIMALS + 1, "0");
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`;
}

/** The timestamp of an instant in milliseconds since the epoch. */
export function timestampAt(ms: number): Timestamp {
  return toTimestamp(String(Math.max(0, Math.trunc(ms)) * 1000)) ?? "0.000000";
}

export function isLater(a: Timestamp, b: Timestamp): boolean {
  return BigInt(toRef(a)) > BigInt(toRef(b));
}
