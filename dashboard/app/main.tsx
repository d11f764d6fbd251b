/** Starts the dashboard: the session, and the event stream, which loads everything. */

import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { watchAlerts } from "../state/browser/alerts.ts";
import { watchInstall } from "../state/browser/install.ts";
import { startWorker } from "../state/browser/offline.ts";
import { RELAYED, unauthorized } from "../state/calls.ts";
import { loadEarly } from "../state/resource.ts";
import { checkSession, sessionState, startSession, watchSession } from "../state/session.ts";
import { watchNetwork } from "../state/network.ts";
import { activateStore } from "../state/store.ts";
import { announceNew } from "../state/announce.ts";
import { removeLeftOver } from "../state/demo.ts";
import {
  connection,
  failures,
  openings,
  openStream,
  reopenNow,
  wakeStream,
} from "../state/stream.ts";
import { readAddress, route } from "../state/router.ts";
import { installFocus } from "./focus.ts";
import { installKeys } from "./keys.ts";
import { installScroll } from "./scroll.ts";
import { Shell } from "./shell.tsx";
import { loadViews, preloadView } from "./views.ts";

/** The time for loading the shown records, before other files are loaded. */
const REST_DELAY_MS = 1000;
/** The time for which the page waits for its stream; a machine may not answer. */
const LIVE_MS_MAX = 5000;

/**
 * A ticket gives the cookie that the stream needs; without a ticket all start at once. Records that
 * are loaded before the stream is open are loaded again then, so that no event is missed.
 */
async function start(): Promise<void> {
  const has_ticket = location.hash.startsWith("#ticket=");
  if (!has_ticket) {
    openStream();
    // A relay answers only calls with the token of the session.
    if (!RELAYED) loadEarly();
  }
  await startSession();
  readAddress();
  if (has_ticket) openStream();
}

/** Causes to ask again for whom the page speaks. */
function watchConnection(): void {
  watchSession();
  for (const change of [openings, failures, unauthorized]) {
    effect(() => {
      if (change.value > 0) untracked(checkSession);
    });
  }
  // A page that is accepted again does not wait for the next try.
  effect(() => {
    const is_accepted = !["asking", "unknown", "ended"].includes(sessionState.value);
    if (is_accepted && connection.peek() === "down") untracked(reopenNow);
  });
}

/**
 * Loads the views that are not shown, and every file for the worker. Earlier, they would delay the
 * shown view.
 */
function loadRest(): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  const stop = effect(() => {
    if (connection.value === "live") resolve();
  });
  setTimeout(resolve, LIVE_MS_MAX);
  promise.then(() => {
    stop();
    setTimeout(() => loadViews().catch(() => undefined).then(startWorker), REST_DELAY_MS);
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

const root = document.getElementById("app");
if (root) {
  activateStore();
  watchNetwork();
  watchInstall();
  watchAlerts();
  installKeys();
  installFocus(root);
  effect(announceNew);
  effect(removeLeftOver);
  addEventListener("hashchange", onHashChange);
  installScroll();
  addEventListener("online", reopenNow);
  document.addEventListener("visibilitychange", onVisible);
  // The requests are under way while the page is drawn.
  preloadView(route.value.view);
  start();
  render(<Shell />, root);
  watchConnection();
  loadRest();
}
