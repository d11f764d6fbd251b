/** Section 6 of the specification: events. */

import type { Requirement } from "./requirement.ts";

// deno-fmt-ignore
export const SECTION_6: readonly Requirement[] = [
  ["6.log",                   "messages",  "The daemon records events in a log, and streams them"],
  ["6.peer-updated",          "built",     "`peer_updated` is told when provenance is replaced"],
  ["6.peer-not-addressable",  "built",     "`peer_not_addressable` has the counts of closed asks and dropped deliveries"],
  ["6.peer-restart",          "built",     "The stages of a restart are events, each with its restart_id"],
  ["6.job-state-changed",     "jobs",      "`job_state_changed` is told at every transition of a job"],
  ["6.inbox-item",            "messages",  "`inbox_item` has item_id, kind, from, from_peer_id, correlation_id; never the text"],
  ["6.inbox-updated",         "messages",  "`inbox_updated` has item_id, read, replied, surface; never the text"],
  ["6.surface-pushed",        "messages",  "`surface_pushed` is the receipt once a dashboard stream has flushed the item's event"],
  ["6.offline-causes",        "built",     "The log records reason, source and detail of an offline"],
  ["6.dropped-rows",          "messages",  "The log records dropped queued rows"],
  ["6.dashboard-live",        "messages",  "The dashboard is live while one surface=dashboard stream is open"],
  ["6.dashboard-text",        "messages",  "The dashboard reads an item's text from GET /inbox"],
];
