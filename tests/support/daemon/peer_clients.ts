/** Helpers for peers: registering, connecting, asking, reading events. */

import { openAsk } from "protocol/asks/contract.ts";
import { type Notify, notifyPeer } from "protocol/notifications.ts";
import { registerPeer } from "protocol/peers/contract.ts";
import * as peerRows from "../../../daemon/features/peers/store.ts";
import { BASE, type World } from "../world.ts";

/** Registers a peer over HTTP; returns the response. */
export function addPeer(w: World, name: string, more: Record<string, unknown> = {}) {
  return w.call(registerPeer, { body: { name, path: "/work", backend: "sdk", ...more } });
}

/** The peer of an agent's session; if there are several, the one that was seen last. */
export function peerOfSession(w: World, session: string) {
  return peerRows.bySession(w.daemon.ctx.db, session)[0];
}

/** Marks the session of every agent as reported, as its hooks do. */
export function reportSessions(w: World): void {
  w.daemon.ctx.db.transact((tx) => tx.run("update peers set session_proved = 1", {}));
}

/** Connects a peer over `/ws`; returns its end of the socket. */
export async function connectPeer(
  w: World,
  display_name: string,
  more: Record<string, unknown> = {},
) {
  const socket = w.socket();
  await socket.connect({ display_name, ...more });
  return socket;
}

/** Connects a client that sends receipts. */
export function connectPeerWithReceipts(
  w: World,
  name: string,
  more: Record<string, unknown> = {},
) {
  return connectPeer(w, name, { capabilities: ["delivery_receipts"], ...more });
}

/** Opens an ask; returns its id. */
export async function ask(
  w: World,
  from_peer: string,
  to_peer: string,
  text = "Ready?",
  more: Record<string, unknown> = {},
): Promise<string> {
  const { correlation_id } = await w.call(openAsk, { body: { from_peer, to_peer, text, ...more } });
  return correlation_id ?? "";
}

export function notify(
  w: World,
  from_peer: string,
  to_peer: string,
  text = "Done",
  more: Partial<Notify> = {},
) {
  return w.call(notifyPeer, { body: { from_peer, to_peer, text, ...more } });
}

/** Signs a browser in with a ticket; returns the headers of a page of the human. */
export async function signIn(w: World): Promise<Record<string, string>> {
  const page = { "sec-fetch-site": "same-origin", origin: BASE };
  const { ticket } = w.daemon.pages.ticket();
  const answer = await w.post("/dashboard/session", { ticket }, page);
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  return { ...page, cookie };
}

/** Posts a raw body; returns status and response. */
export async function post(w: World, path: string, body: unknown = {}, headers = {}) {
  const response = await w.post(path, body, headers);
  return { status: response.status, ...await response.json() };
}

export async function get(w: World, path: string) {
  const response = await w.fetch(path);
  return { status: response.status, ...await response.json() };
}

/** The types of all events after an id, in order. */
export function eventTypesSince(w: World, at: number): string[] {
  return w.events.slice(at).map(({ type }) => type);
}

/** The payloads of all events of a type. */
export function eventData(w: World, type: string): Record<string, unknown>[] {
  return w.events.filter((event) => event.type === type).map(({ data }) => data);
}
