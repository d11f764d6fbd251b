/** Helpers for schedules and subscriptions. */

import type { WireResponse } from "kit/http/client.ts";
import {
  cancelSchedule,
  createSchedule,
  editSchedule,
  getSchedule,
  listSchedules,
} from "protocol/schedules/contract.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
} from "protocol/subscriptions/contract.ts";
import { type World, world } from "../world.ts";
import { addPeer, connectPeer, post } from "./peer_clients.ts";

type ScheduleInput = Readonly<Record<string, unknown>>;
export type Schedule = WireResponse<typeof getSchedule>;

/** Schedules a notification from @ada to @bob in ten minutes; fields can be overridden. */
export function schedule(w: World, more: ScheduleInput = {}, headers: Record<string, string> = {}) {
  const once = more["cron"] === undefined ? { fire_at: "10m" } : {};
  const body = { from_peer: "ada", to_peer: "bob", text: "Stand up", ...once, ...more };
  return w.call(createSchedule, { body: body as never, headers });
}

export function readSchedule(w: World, id: string): Promise<Schedule> {
  return w.call(getSchedule, { params: { id } });
}

export function edit(w: World, id: string, body: Record<string, unknown>, headers = {}) {
  return w.call(editSchedule, { params: { id }, body: body as never, headers });
}

export function cancel(w: World, id: string) {
  return w.call(cancelSchedule, { params: { id } });
}

/** The ids in a list, in order. */
export async function ids(w: World, query: Record<string, string> = {}): Promise<string[]> {
  const { schedules } = await w.call(listSchedules, { query: query as never });
  return schedules.map(({ schedule_id }) => schedule_id);
}

/** A daemon with @ada, with @bob who listens, and with the human @sam. */
export async function worldWithPeers(options: Parameters<typeof world>[0] = {}) {
  const w = world({ settings: { "human.name": "sam" }, ...options });
  await addPeer(w, "ada");
  const bob = await connectPeer(w, "bob");
  return { w, bob, [Symbol.asyncDispose]: () => w[Symbol.asyncDispose]() };
}

type Subscription = WireResponse<typeof getSubscription>;

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

export async function subscriptionIds(
  w: World,
  query: Record<string, string> = {},
): Promise<string[]> {
  const { subscriptions } = await w.call(listSubscriptions, { query: query as never });
  return subscriptions.map(({ subscription_id }) => subscription_id);
}

/** A hook's report of a peer's turn. */
export function turn(w: World, peer: string, turn_state: "working" | "idle" | "awaiting_input") {
  return post(w, `/peers/${peer}/turn`, { turn_state });
}
