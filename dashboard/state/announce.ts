/** What is said to a person who does not see the place where it happened. */

import { signal } from "@preact/signals";
import { inbox, openAsks, waitingAsks } from "./store.ts";

/** Read out by screen readers; not shown. */
export const announced = signal("");

/** A text that is the same as the one before is said again. */
export function announce(text: string): void {
  announced.value = announced.value === text ? `${text}\u00a0` : text;
}

let known: ReadonlySet<string> | undefined;

/** Says which questions have come since the last time; not those of the first load. */
export function announceNew(): void {
  if (!inbox.value.value || !openAsks.value.value) return;
  const asks = waitingAsks.value.map(({ ask }) => ask);
  const fresh = known && asks.filter(({ correlation_id }) => !known?.has(correlation_id));
  known = new Set(asks.map(({ correlation_id }) => correlation_id));
  const names = [...new Set(fresh?.map(({ from_peer_name }) => from_peer_name))];
  if (names.length > 0) announce(`New question from ${names.join(", ")}`);
}
