/**
 * The language of conditions, of `mesh wait` and of subscriptions: what may be waited for, how it is
 * written, and when it holds. It loads no schema.
 */

/** The fields of a peer that a condition reads. */
export interface PeerActivity {
  readonly status: string;
  readonly turn_state: string | null;
}

// deno-fmt-ignore
export const PEER_STATES: Readonly<Record<string, (peer: PeerActivity) => boolean>> = {
  idle:    (peer) => isOnline(peer) && activityOf(peer) === "idle",
  working: (peer) => isOnline(peer) && activityOf(peer) === "working",
  blocked: (peer) => isOnline(peer) && activityOf(peer) === "awaiting_input",
  online:  (peer) => isOnline(peer),
  offline: (peer) => !isOnline(peer),
};

/** Ends of a turn. They are not lasting states, so only a subscription can use them. */
export const FINISHED = "finished";
/** An error ended the turn. */
export const FAILED = "failed";

const PEER_FORM = `peer:NAME ${Object.keys(PEER_STATES).join("|")}`;
const RECORD_FORMS = "job:ID ended, ask:ID closed";
/** Conditions that `mesh wait` accepts. */
export const STATE_FORMS = `${PEER_FORM}, ${RECORD_FORMS}`;
/** Conditions that a subscription accepts. */
export const FORMS = `${PEER_FORM}|${FINISHED}|${FAILED}, ${RECORD_FORMS}, file:NAME/GLOB edited`;

export type ConditionKind = "peer" | "job" | "ask" | "file";

export interface Condition {
  readonly kind: ConditionKind;
  /** The peer's name or id, or the id of the job or ask. For files, the peer in whose folder. */
  readonly subject: string;
  readonly expected: string;
  /** For files: the pattern of their paths in the folder of the peer. */
  readonly glob: string | null;
}

export const GLOB_CHARS_MAX = 500;

/** Parses a condition; undefined for a text that is none. */
export function parseCondition(text: string): Condition | undefined {
  const [target = "", expected = "", ...more] = text.trim().split(/\s+/);
  const colon = target.indexOf(":");
  const kind = target.slice(0, Math.max(0, colon));
  const subject = target.slice(colon + 1);
  if (subject === "" || more.length > 0) return undefined;
  const isEnd = expected === FINISHED || expected === FAILED;
  const isPeer = kind === "peer" && (isEnd || Object.hasOwn(PEER_STATES, expected));
  const isJob = kind === "job" && expected === "ended";
  const isAsk = kind === "ask" && expected === "closed";
  if (isPeer || isJob || isAsk) return { kind, subject, expected, glob: null };
  return kind === "file" && expected === "edited" ? fileCondition(subject) : undefined;
}

function fileCondition(target: string): Condition | undefined {
  const slash = target.indexOf("/");
  if (slash < 1) return undefined;
  const glob = target.slice(slash + 1);
  // A path outside of the folder is never matched, so it is refused.
  const isInside = glob.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  if (!isInside || glob.length > GLOB_CHARS_MAX) return undefined;
  return { kind: "file", subject: target.slice(0, slash), expected: "edited", glob };
}

/** The condition as it is written, with another name of its subject. */
export function formatCondition({ kind, subject, expected, glob }: Condition): string {
  return `${kind}:${subject}${glob === null ? "" : `/${glob}`} ${expected}`;
}

export function isOnline({ status }: Pick<PeerActivity, "status">): boolean {
  return status === "online" || status === "busy";
}

/** Activity of an online peer, by its turns or, without any, by its status. */
export function activityOf({ status, turn_state }: PeerActivity): string {
  return turn_state ?? (status === "busy" ? "working" : "idle");
}
