/** The calls to the daemon and to the chat that the chat handlers share. */

import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { getInboxItem, listInbox } from "protocol/inbox.ts";
import { type DaemonClient, DaemonUnreachable } from "../../cli/client/daemon_client.ts";
import type { BackoffDeps } from "../../cli/client/backoff.ts";
import { type Chat, ChatError } from "./chat.ts";
import { ShownItem } from "./rendering.ts";

/**
 * Maximum number of items that are searched for the item of a message. The search begins at that
 * message and goes back.
 */
const SEARCHED_ITEMS_MAX = 20;

/** The messages that this process sent, by the item that they show. */
export interface ShownMessages {
  getItemId(ref: string): string | undefined;
  recordMessage(ref: string, item_id: string, hasButtons: boolean): void;
  /** The messages with the buttons of an item. */
  buttonRefs(item_id: string): readonly string[];
}

export interface ChatDeps extends BackoffDeps {
  readonly chat: Chat;
  readonly call: Call;
  /** For bodies that are not JSON: the content of files. */
  readonly daemon: Pick<DaemonClient, "get" | "url">;
  readonly pushes: ShownMessages;
  log(text: string): void;
}

type Item = WireResponse<typeof getInboxItem>;

export async function mustGetItem(
  { call }: ChatDeps,
  id: string,
  signal: AbortSignal,
): Promise<ShownItem> {
  return ShownItem.parse(await call(getInboxItem, { params: { id }, signal }));
}

/** The item that a message of the bot shows. */
export async function getItemByRef(
  { call, chat }: ChatDeps,
  ref: string,
  signal: AbortSignal,
): Promise<Item | undefined> {
  const { surface: name } = chat.style;
  const query = { surface: name, through_ref: ref, limit: String(SEARCHED_ITEMS_MAX) };
  const { items } = await call(listInbox, { query, signal });
  return items.find(({ pushes }) =>
    pushes.some(({ surface, surface_refs }) => surface === name && surface_refs.includes(ref))
  );
}

/** The id of the item that a message of the bot shows, if it is known here or to the daemon. */
export async function getItemId(deps: ChatDeps, ref: string, signal: AbortSignal) {
  return deps.pushes.getItemId(ref) ?? (await getItemByRef(deps, ref, signal))?.item_id;
}

/** Returns the result of `work`, or the daemon's refusal. Throws when the daemon is unavailable. */
export async function catchRefusal<A>(work: () => Promise<A>): Promise<A | ApiError> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError && !isDaemonUnavailable(error)) return error;
    throw error;
  }
}

/** Runs an optional call to the chat; on failure logs it and returns undefined. */
export async function tryChat<A>(
  deps: ChatDeps,
  work: () => Promise<A>,
): Promise<A | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ChatError) || error.error_class === "unauthorized") throw error;
    deps.log(`${deps.chat.style.title}: ${error.message}`);
    return undefined;
  }
}

/**
 * True if the daemon is unreachable, shutting down, or cannot write, so that the call must be
 * retried.
 */
export function isDaemonUnavailable(error: unknown): boolean {
  if (error instanceof DaemonUnreachable) return true;
  return error instanceof ApiError && error.status === 503 && error.problem.error !== "no_human";
}
