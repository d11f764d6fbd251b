/** Starts the page's state: the session, and the event stream, whose opening loads the data. */

import { effect, untracked } from "@preact/signals";
import { watchInstall } from "./browser/install.ts";
import { unanswered, unauthorized } from "./calls.ts";
import { loadEarly } from "./resource.ts";
import { readAddress } from "./router.ts";
import { checkSession, sessionState, startSession, watchSession } from "./session.ts";
import { activateStore, inbox, openAsks, peers } from "./store.ts";
import {
  checkStream,
  connection,
  failures,
  openings,
  openStream,
  reopenNow,
  wakeStream,
} from "./stream.ts";

/** Maximum time for which the data waits for the stream: a proxy may hold streams back. */
const STREAM_MS_MAX = 5000;
/** Maximum time for which drawing waits for records. Drawing without them would delay them. */
const FIRST_RECORDS_MS_MAX = 60;

export function startState(): void {
  activateStore();
  watchInstall();
  addEventListener("hashchange", onHashChange);
  addEventListener("online", reopenNow);
  addEventListener("offline", checkStream);
  document.addEventListener("visibilitychange", onVisible);
  start();
  watchConnection();
}

/**
 * A ticket gives the cookie that the stream needs; without a ticket both start at once. The data is
 * loaded when the stream is open, so that no event is missed and nothing is loaded twice.
 */
async function start(): Promise<void> {
  const has_ticket = location.hash.startsWith("#ticket=");
  if (!has_ticket) openStream();
  setTimeout(loadEarly, STREAM_MS_MAX);
  await startSession();
  readAddress();
  if (has_ticket) openStream();
}

/** Resolves when the records of the first view are loaded, or cannot be, or take long. */
export async function firstRecords(): Promise<void> {
  const loads = [peers, openAsks, inbox].map((resource) => resource.whenLoaded());
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, FIRST_RECORDS_MS_MAX);
  await Promise.race([Promise.allSettled(loads), promise]);
}

/** Causes to ask again for whom the page speaks, and whether the stream is still there. */
function watchConnection(): void {
  watchSession();
  for (const change of [failures, unauthorized]) {
    effect(() => {
      if (change.value > 0) untracked(checkSession);
    });
  }
  effect(() => {
    // The first opening is part of the start, which asks by itself.
    if (openings.value > 1 || openings.value === 1 && sessionState.peek() === "asking") {
      untracked(checkSession);
    }
  });
  effect(() => {
    if (unanswered.value > 0) untracked(checkStream);
  });
  // A page that is accepted again does not wait for the next try.
  effect(() => {
    const is_accepted = !["asking", "unknown", "ended"].includes(sessionState.value);
    if (is_accepted && connection.peek() === "down") untracked(reopenNow);
  });
}

function onVisible(): void {
  if (document.hidden) return;
  wakeStream();
  checkSession();
}

/** `mesh open` may lead to a page that is already open. */
function onHashChange(): void {
  if (location.hash.startsWith("#ticket=")) startSession().then(readAddress);
  else readAddress();
}
