/** Draws the dashboard, and then loads the rest of its files. */

import "../views/core.ts";
import { effect } from "@preact/signals";
import { render } from "preact";
import { announceNew } from "../state/announce.ts";
import { watchAlerts } from "../state/browser/alerts.ts";
import { startWorker } from "../state/browser/offline.ts";
import { watchPhone } from "../state/browser/phone.ts";
import { applyTheme } from "../state/browser/theme.ts";
import { removeLeftOver } from "../state/demo.ts";
import { watchNetwork } from "../state/network.ts";
import { showColour } from "../state/browser/own_machine.ts";
import { route } from "../state/router.ts";
import { firstRecords } from "../state/start.ts";
import { connection } from "../state/stream.ts";
import { installFocus } from "./focus.ts";
import { installKeys } from "./keys.ts";
import { installScroll } from "./scroll.ts";
import { Shell } from "./shell.tsx";
import { loadViews, preloadView } from "./views.ts";

/** The time for loading the shown records, before other files are loaded. */
const REST_DELAY_MS = 1000;
/** The time for which the page waits for its stream; a machine may not answer. */
const LIVE_MS_MAX = 5000;

export async function draw(): Promise<void> {
  // The requests are under way while the page is drawn.
  preloadView(route.value.view);
  await firstRecords();
  const root = await rootElement();
  if (!root) return;
  applyTheme();
  showColour();
  watchPhone();
  watchNetwork();
  watchAlerts();
  installKeys();
  installFocus(root);
  effect(announceNew);
  effect(removeLeftOver);
  installScroll();
  render(<Shell />, root);
  loadRest();
}

/** The element that the page is drawn into. This code may arrive before the end of the page. */
async function rootElement(): Promise<HTMLElement | null> {
  if (document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve));
  }
  return document.getElementById("app");
}

/**
 * Loads the views that people open often, and every file for the worker. Earlier, they would delay
 * the shown view.
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
