/** The calls to the daemon and to Telegram that the chat handlers share. */

import type { Clock } from "kit/core/clock.ts";
import { ApiError, type Call, type WireResponse } from "kit/http/client.ts";
import { getInboxItem, listInbox } from "../../../daemon/features/inbox/contract.ts";
import { DaemonUnreachable } from "../../client/daemon_client.ts";
import { type BotApi, BotApiError } from "./bot_api.ts";
import type { PushQueue } from "./push_queue.ts";
import { ShownItem, SURFACE } from "./rendering.ts";

/**
 * How many items are searched for the item that a message shows. The search begins at that message
 * and goes back.
 */
const SEARCHED_ITEMS_MAX = 20;

export interface ChatDeps {
  readonly bot: BotApi;
  readonly call: Call;
  readonly clock: Clock;
  readonly pushes: Pick<PushQueue, "getItemId" | "recordMessage">;
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
  { call }: ChatDeps,
  ref: number,
  signal: AbortSignal,
): Promise<Item | undefined> {
  const query = { surface: SURFACE, through_ref: String(ref), limit: String(SEARCHED_ITEMS_MAX) };
  const { items } = await call(listInbox, { query, signal });
  return items.find(({ pushes }) =>
    pushes.some(({ surface, surface_refs }) =>
      surface === SURFACE && surface_refs.includes(String(ref))
    )
  );
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

/** Runs an optional call to Telegram; on failure logs it and returns undefined. */
export async function tryTelegram<A>(
  deps: ChatDeps,
  work: () => Promise<A>,
): Promise<A | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BotApiError) || error.error_class === "unauthorized") throw error;
    deps.log(`Telegram: ${error.message}`);
    return undefined;
  }
}

/**
 * Whether the daemon is unreachable, shutting down, or cannot write, so that the call must be
 * retried.
 */
export function isDaemonUnavailable(error: unknown): boolean {
  if (error instanceof DaemonUnreachable) return true;
  return error instanceof ApiError && error.status === 503 && error.problem.error !== "no_human";
}
