/** Helpers for surfaces and bridges: connecting, reading items, sending receipts. */

import assert from "node:assert/strict";
import type { FakeSocket, World } from "../world.ts";
import { connectPeer, get, notify } from "./peer_clients.ts";

export interface Push {
  surface: string;
  status: string;
  surface_ref: string | null;
  surface_refs: string[];
  verified: boolean;
  error_class: string | null;
  at: string;
}

export interface Item {
  item_id: string;
  kind: string;
  text: string;
  read: boolean;
  replied: boolean;
  pushes: Push[];
}

/** The frame of an item. */
export interface SentItem {
  delivery_id: string;
  item: Item;
  reply_to_ref: string | null;
}

/** Connects a surface. */
export function surface(w: World, display_name: string, more: Record<string, unknown> = {}) {
  return connectPeer(w, display_name, { capabilities: ["inbox_surface"], ...more });
}

/** The items that a surface received, in order. */
export function sentItems(socket: FakeSocket): SentItem[] {
  return socket.of("inbox_item").map(({ item, ...frame }) => ({ ...frame, item: item as Item }));
}

export function lastSentItem(socket: FakeSocket): SentItem {
  const last = sentItems(socket).at(-1);
  assert.ok(last, "The surface was sent nothing");
  return last;
}

/** Sends the surface's receipt of a delivery. */
export function sendReceipt(
  socket: FakeSocket,
  delivery_id: string,
  fields: Record<string, unknown> = { status: "pushed" },
) {
  return socket.send({ type: "delivery_ack", delivery_id, ...fields });
}

/** Sends the human a notification that a surface shows under these refs; returns the item's id. */
export async function notifyAndShow(
  w: World,
  socket: FakeSocket,
  surface_ref: string | number | null,
  more: (string | number)[] = [],
): Promise<string> {
  const { inbox_item_id = "" } = await notify(w, "ada", "sam", `ref ${surface_ref}`);
  const surface_refs = [...surface_ref === null ? [] : [surface_ref], ...more];
  await sendReceipt(socket, lastSentItem(socket).delivery_id, {
    status: "pushed",
    surface_ref,
    surface_refs,
  });
  return inbox_item_id;
}

/** The push of an item to a surface. */
export async function pushTo(w: World, item_id: string, name: string): Promise<Push | undefined> {
  const { pushes }: Item = await get(w, `/inbox/${item_id}`);
  return pushes.find(({ surface }) => surface === name);
}
