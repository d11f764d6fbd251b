/** The event stream: one connection, which resumes after the last event that arrived. */

import { signal } from "@preact/signals";
import type { EventType } from "protocol/events.ts";
import { PREFIX } from "./calls.ts";
import { refreshAll, refreshTopics, type Topic } from "./resource.ts";
import { type Frame, SharedStream } from "./shared_stream.ts";

/** `live`: the page is current. `down`: it may be out of date. */
export const connection = signal<"connecting" | "live" | "down">("connecting");
/** When the connection was lost, in milliseconds; undefined while it is live. */
export const lostAt = signal<number | undefined>(undefined);

/** False if the browser knows of no network, when the connection was last lost. */
export const deviceOnline = signal(true);

/** The number of times that the stream has opened since the page was opened. */
export const openings = signal(0);

/** The number of times that the connection has failed since the page was opened. */
export const failures = signal(0);

/** The topics that each event changes. */
const CONCERNS: Readonly<Record<EventType, readonly Topic[]>> = {
  peer_registered: ["peers"],
  peer_updated: ["peers", "turns"],
  peer_online: ["peers", "turns"],
  peer_offline: ["peers", "asks"],
  peer_retired: ["peers", "asks"],
  peer_removed: ["peers", "asks"],
  peer_contradiction: ["peers", "health"],
  peer_restart_offline_ignored: ["peers"],
  peer_restart_started: ["peers"],
  peer_restart_launched: ["peers"],
  peer_restart_restarted: ["peers"],
  peer_restart_failed: ["peers"],
  peer_not_addressable: ["peers", "asks", "messages"],
  ask: ["asks", "messages", "peers"],
  proof: ["asks", "messages", "peers"],
  lease: ["leases"],
  review_changed: ["reviews"],
  file_overlap: ["files"],
  joint_failure: ["joint_checks"],
  joint_checked: ["joint_checks", "reviews"],
  budget: ["budgets"],
  policy_denied: [],
  looping: ["peers"],
  usage_counted: ["usage", "budgets"],
  turn_failed: ["peers", "turns"],
  turn_interrupted: ["peers", "turns"],
  limit_changed: ["limits", "peers"],
  limit_storm: [],
  interrupt: ["peers"],
  briefing: ["messages"],
  ask_reminded: ["asks", "messages"],
  ack: ["asks", "messages", "peers", "inbox"],
  question: ["asks", "inbox"],
  answer: ["asks", "inbox"],
  notification: ["messages", "peers"],
  broadcast: ["messages"],
  deliveries_dropped: ["messages", "peers"],
  inbox_item: ["inbox", "asks", "messages"],
  inbox_updated: ["inbox", "asks"],
  surface_pushed: [],
  device_changed: ["push"],
  push_subscription_changed: ["push"],
  push_changed: ["push"],
  chat_turn: ["turns"],
  spawn: ["peers"],
  wake: ["peers", "messages"],
  job_state_changed: ["jobs"],
  job_updated: ["jobs"],
  job_template_changed: ["jobs"],
  schedule_changed: ["schedules"],
  schedule_fired: ["schedules", "messages"],
  subscription_changed: ["subscriptions"],
  subscription_fired: ["subscriptions", "messages"],
  relay_status: ["health"],
  bus_status: ["machines"],
  machine_changed: ["machines"],
};

let last_id: number | undefined;
let is_open = false;

const stream = new SharedStream({
  types: [...Object.keys(CONCERNS), "delivery", "turn", "gap"],
  address() {
    const query = new URLSearchParams({ surface: "dashboard" });
    if (last_id !== undefined) query.set("since", String(last_id));
    return `${PREFIX}/events/stream?${query}`;
  },
  receive,
  state() {
    if (connection.value === "connecting") return undefined;
    const is_live = connection.value === "live";
    return { type: is_live ? "ready" : "lost", data: JSON.stringify({ last: last_id }), id: "" };
  },
});

/** Opens the stream. Each time it opens, everything that is shown is loaded again. */
export function openStream(): void {
  is_open = true;
  stream.open();
}

function receive({ type, data, id }: Frame): void {
  if (id !== "") last_id = Number(id);
  if (type === "lost") return markLost();
  if (type === "ready") {
    const { last } = JSON.parse(data);
    last_id = Math.min(last_id ?? last, last);
    lostAt.value = undefined;
    openings.value++;
    connection.value = "live";
    refreshAll();
  } else if (type === "gap") refreshAll();
  // Steps and turns are not stored: their changes are loaded when the stream opens again.
  else if (type === "delivery") refreshTopics(["messages"], namedIds(data));
  else if (type === "turn") refreshTopics(["peers"], namedIds(data));
  else if (isEventType(type)) {
    refreshTopics(CONCERNS[type], NAMES_ALL.has(type) ? namedIds(data) : undefined);
  }
}

/** Events that name all peers and messages that they change. */
const NAMES_ALL: ReadonlySet<string> = new Set<EventType>([
  "peer_registered",
  "peer_updated",
  "peer_online",
  "peer_contradiction",
  "relay_status",
  "ask",
  "ack",
  "question",
  "answer",
  "notification",
  "chat_turn",
  "usage_counted",
]);

/** The ids in an event. */
function namedIds(data: string): ReadonlySet<string> {
  const fields = Object.entries<unknown>(JSON.parse(data));
  return new Set(
    fields.flatMap(([name, value]) =>
      name.endsWith("_id") && typeof value === "string" ? [value] : []
    ),
  );
}

const isEventType = (type: string): type is EventType => Object.hasOwn(CONCERNS, type);

function markLost(): void {
  lostAt.value ??= stream.heard_at;
  deviceOnline.value = navigator.onLine;
  connection.value = "down";
  failures.value++;
}

/** Tries at once: the browser is online again, or a person asks for it. */
export function reopenNow(): void {
  if (connection.value !== "live" && is_open) stream.open();
}

/** The shortest time between two checks: a call may fail although the stream is there. */
const CHECK_INTERVAL_MS = 5000;
let checked_at = -Infinity;

/** Opens the stream again, because the network may be gone: a failure shows at once. */
export function checkStream(): void {
  if (connection.value !== "live" || performance.now() - checked_at < CHECK_INTERVAL_MS) return;
  checked_at = performance.now();
  stream.open();
}

/** A person looks at the page again. */
export function wakeStream(): void {
  if (document.hidden || !is_open) return;
  if (connection.value === "live") stream.wake();
  else stream.open();
}
