/** Helpers for subscriptions. */

import type { WireResponse } from "kit/http/client.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
} from "../../../daemon/features/subscriptions/contract.ts";
import type { World } from "../world.ts";
import { post } from "./peer_clients.ts";

export type Subscription = WireResponse<typeof getSubscription>;

/** Subscribes @ada, unless the fields say another. */
export function subscribe(w: World, condition: string, more: Record<string, unknown> = {}) {
  const body = { from_peer: "ada", condition, ...more };
  return w.call(createSubscription, { body: body as never });
}

export function readSubscription(w: World, id: string): Promise<Subscription> {
  return w.call(getSubscription, { params: { id } });
}

export function unsubscribe(w: World, id: string): Promise<Subscription> {
  return w.call(cancelSubscription, { params: { id } });
}

export async function listed(w: World, query: Record<string, string> = {}): Promise<string[]> {
  const { subscriptions } = await w.call(listSubscriptions, { query: query as never });
  return subscriptions.map(({ subscription_id }) => subscription_id);
}

/** A hook's report of a peer's turn. */
export function turn(w: World, peer: string, turn_state: "working" | "idle" | "awaiting_input") {
  return post(w, `/peers/${peer}/turn`, { turn_state });
}
