/** Pushes to this browser: notifications of the inbox while the page is closed. */

import { signal } from "@preact/signals";
import * as at from "protocol/generated/endpoints.ts";
import { call, isRefusal, PREFIX } from "../calls.ts";
import { account } from "../relay.ts";
import type { PushDevice } from "../records.ts";
import { offline, registration } from "./offline.ts";
import { keepText, readKept } from "./storage.ts";

/**
 * - `unsupported`: this browser has none here, and `reason` says why;
 * - `blocked`: its settings forbid notifications of this page.
 */
export type PushState =
  | { readonly state: "asking" | "off" | "blocked" }
  | { readonly state: "unsupported"; readonly reason: string }
  | { readonly state: "on"; readonly subscription_id: string };

export const push = signal<PushState>({ state: "asking" });

const KEPT = `mesh-push ${PREFIX}`;

/** Finds out if this browser is among the devices; the daemon may have removed it. */
export async function checkPush(devices: readonly PushDevice[]): Promise<void> {
  push.value = await stateAmong(devices);
}

async function stateAmong(devices: readonly PushDevice[]): Promise<PushState> {
  if (!("PushManager" in globalThis)) return { state: "unsupported", reason: missingReason() };
  if (Notification.permission === "denied") return { state: "blocked" };
  const worker = await registration();
  if (!worker) {
    const state = offline.value;
    if (typeof state === "string") return { state: "asking" };
    return { state: "unsupported", reason: state.reason };
  }
  const subscription_id = readKept(KEPT);
  const own = devices.find((device) => device.subscription_id === subscription_id);
  const subscription = await worker.pushManager.getSubscription();
  if (!subscription || !own || own.ended_at !== null) return { state: "off" };
  return { state: "on", subscription_id: own.subscription_id };
}

/** iPhones and iPads offer pushes to installed apps only. */
function missingReason(): string {
  const isApple = /iP(?:hone|ad|od)/.test(navigator.userAgent) || "standalone" in navigator;
  return isApple
    ? "add the page to the Home Screen, and open it there: iPhones and iPads offer this to " +
      "installed apps only"
    : "this browser offers no pushes, or only over HTTPS";
}

/** Called by a button only: browsers refuse a page that asks by itself. */
export async function subscribe(public_key: string): Promise<void> {
  if (await Notification.requestPermission() !== "granted") {
    push.value = { state: Notification.permission === "denied" ? "blocked" : "off" };
    return;
  }
  const worker = await registration();
  if (!worker) throw new Error("The page is not ready for this yet. Try again in a moment.");
  const subscription = await subscriptionFor(worker.pushManager, public_key);
  const { endpoint = "", keys = {} } = subscription.toJSON();
  const { p256dh = "", auth = "" } = keys;
  const body = {
    endpoint,
    keys: { p256dh, auth },
    user_agent: navigator.userAgent,
    ...(account !== undefined && { account }),
  };
  const { subscription_id } = await call(at.subscribePush, { body });
  keepText(KEPT, subscription_id);
  push.value = { state: "on", subscription_id };
}

/** A subscription for another key, such as that of an earlier database, is replaced. */
async function subscriptionFor(manager: PushManager, public_key: string) {
  const applicationServerKey = Uint8Array.fromBase64(public_key, { alphabet: "base64url" });
  const options = { userVisibleOnly: true, applicationServerKey };
  try {
    return await manager.subscribe(options);
  } catch (error) {
    const before = await manager.getSubscription();
    if (!before) throw error;
    await before.unsubscribe();
    return await manager.subscribe(options);
  }
}

/** Ends the pushes of this browser, if it has any; the daemon forgets it. */
export async function unsubscribe(): Promise<void> {
  const { value } = push;
  const subscription = await (await registration())?.pushManager.getSubscription();
  await subscription?.unsubscribe();
  keepText(KEPT, null);
  push.value = { state: "off" };
  if (value.state !== "on") return;
  const params = { id: value.subscription_id };
  await call(at.unsubscribePush, { params }).catch((error) => {
    if (!isRefusal(error, "unknown_push_subscription")) throw error;
  });
}
