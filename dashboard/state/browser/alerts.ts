/**
 * Shows waiting items to a person who looks elsewhere: notifications of an open page, and the app's
 * badge. Where pushes are on, they show the items of the inbox, also of a closed page.
 */

import { computed, effect, signal } from "@preact/signals";
import { waitSentence } from "protocol/derived/waits.ts";
import { REFUSAL } from "protocol/push/payload.ts";
import { PREFIX } from "../calls.ts";
import { machineName } from "../relay.ts";
import { go, link } from "../router.ts";
import {
  answerCount,
  inbox,
  openAsks,
  peers,
  unreadNotes,
  waitingAsks,
  waitingPeers,
} from "../store.ts";
import { registration } from "./offline.ts";
import { push } from "./push.ts";
import { keepText, readKept } from "./storage.ts";

const WANTED = "mesh-notifications";
const BODY_CHARS_MAX = 200;

const supported = "Notification" in globalThis;

/** - `blocked`: the browser's settings forbid it; - `off`: not asked for, or switched off here. */
export type Alerts = "unsupported" | "blocked" | "off" | "on";
export const alerts = signal<Alerts>(stateNow());

function stateNow(): Alerts {
  if (!supported) return "unsupported";
  if (Notification.permission === "denied") return "blocked";
  const wanted = readKept(WANTED) === "yes";
  return wanted && Notification.permission === "granted" ? "on" : "off";
}

/** Called by a button only: browsers refuse a page that asks by itself. */
export async function switchOn(): Promise<void> {
  keepText(WANTED, "yes");
  await Notification.requestPermission();
  alerts.value = stateNow();
}

export function switchOff(): void {
  keepText(WANTED, null);
  alerts.value = stateNow();
  for (const id of [...shown.keys()]) close(id);
}

/** An item that waits for the human, as a notification shows it. */
interface Item {
  readonly id: string;
  readonly title: string;
  readonly body: string;
  /** True for an item of the inbox. */
  readonly is_pushed: boolean;
}

/** Everything that Attention lists; undefined until all of it has been loaded. */
const items = computed<readonly Item[] | undefined>(() => {
  const loaded = [inbox, openAsks, peers].every(({ value }) => value.value !== undefined);
  if (!loaded) return undefined;
  return [
    ...waitingAsks.value.map(({ ask }) => ({
      id: ask.correlation_id,
      title: `${ask.from_peer_name} asks you`,
      body: ask.question?.prompt ?? ask.text,
      is_pushed: true,
    })),
    ...waitingPeers.value.map((peer) => ({
      id: peer.peer_id,
      title: `${peer.name} waits`,
      body: waitSentence(peer) ?? "",
      is_pushed: false,
    })),
    ...unreadNotes.value.map(({ item_id, kind, from, text }) => ({
      id: item_id,
      title: kind === "ask" ? `A question of ${from} was closed` : `${from} writes to you`,
      body: text,
      is_pushed: true,
    })),
  ];
});

/** The items that this page knows; undefined until the first have been loaded. */
let known: ReadonlySet<string> | undefined;
/** Functions that close the notification of an item. */
const shown = new Map<string, Promise<() => void>>();

export function watchAlerts(): void {
  effect(() => {
    const waiting = items.value;
    if (!waiting) return;
    const ids = new Set(waiting.map(({ id }) => id));
    for (const id of [...shown.keys()]) if (!ids.has(id)) close(id);
    const away = document.hidden || !document.hasFocus();
    const hasPush = push.peek().state === "on";
    for (const item of waiting) {
      const isNew = known !== undefined && !known.has(item.id) && !(hasPush && item.is_pushed);
      if (isNew && away && alerts.peek() === "on") shown.set(item.id, open(item));
    }
    if (known === undefined || hasPush) closeOutdated();
    known = ids;
  });
  effect(() => {
    const count = answerCount.value;
    if (!("setAppBadge" in navigator)) return;
    // A badge is a hint: a device that shows none refuses it.
    (count > 0 ? navigator.setAppBadge(count) : navigator.clearAppBadge()).catch(() => undefined);
  });
  // The worker names a view when a person chooses a notification of this page.
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (typeof data === "string") go(`#/${data}`);
  });
}

async function open({ id, title: what, body }: Item): Promise<() => void> {
  const tag = tagOf(id);
  // Behind a relay several machines may have a page open.
  const title = machineName.value === undefined ? what : `${what} · ${machineName.value}`;
  const options = { tag, body: body.slice(0, BODY_CHARS_MAX) };
  const worker = await registration();
  if (worker) {
    await worker.showNotification(title, options);
    return async () => {
      for (const alert of await worker.getNotifications({ tag })) alert.close();
    };
  }
  const notification = new Notification(title, options);
  notification.addEventListener("click", () => {
    focus();
    go(link("attention"));
  });
  return () => notification.close();
}

/** Closes the notification of an item that no longer waits, also if it was answered elsewhere. */
function close(id: string): void {
  shown.get(id)?.then((closeIt) => closeIt(), () => undefined);
  shown.delete(id);
}

/** Closes notifications, also of pushes and of an earlier page, whose items no longer wait. */
async function closeOutdated(): Promise<void> {
  const found = await (await registration())?.getNotifications() ?? [];
  const tags = new Set([tagOf("test"), ...items.peek()?.map(({ id }) => tagOf(id)) ?? []]);
  for (const notification of found) {
    const { tag } = notification;
    if (!tags.has(tag) && !tag.endsWith(REFUSAL)) notification.close();
  }
}

function tagOf(id: string): string {
  return `${PREFIX} ${id}`;
}
