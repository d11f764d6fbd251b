/** Announcements for a person who cannot see the place of a change. */

import { signal } from "@preact/signals";
import { inbox, openAsks, waitingAsks } from "./store.ts";

/** Read out by screen readers; not shown. */
export const announced = signal("");

/** Announces a text, also if it is the same as the previous text. */
export function announce(text: string): void {
  announced.value = announced.value === text ? `${text}\u00a0` : text;
}

let known: ReadonlySet<string> | undefined;

/** Announces new questions since the last call; not the questions of the first load. */
export function announceNew(): void {
  if (!inbox.value.value || !openAsks.value.value) return;
  const asks = waitingAsks.value.map(({ ask }) => ask);
  const fresh = known && asks.filter(({ correlation_id }) => !known?.has(correlation_id));
  known = new Set(asks.map(({ correlation_id }) => correlation_id));
  const names = [...new Set(fresh?.map(({ from_peer_name }) => from_peer_name))];
  if (names.length > 0) announce(`New question from ${names.join(", ")}`);
}
