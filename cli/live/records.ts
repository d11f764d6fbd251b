/** The records of the live view, as the daemon returned them, and the events that change them. */

import type { EventType } from "protocol/events.ts";
import type { WireResponse } from "kit/http/client.ts";
import type { pendingAsks } from "protocol/asks/contract.ts";
import type * as wire from "protocol/wire.ts";

export type Peer = wire.Peer;
export type Ask = WireResponse<typeof pendingAsks>["asks"][number];
export type Item = wire.InboxItem;
export type Message = wire.Message;

/** The messages of a page and its older neighbours, newest first. */
export interface Messages {
  readonly rows: readonly Message[];
  /** True if there are older messages. */
  readonly hasMore: boolean;
}

/** The inbox of the human. */
export interface Inbox {
  readonly human: string;
  readonly human_peer_id: string;
  /** Items whose ask is open, and unread items. */
  readonly items: readonly Item[];
  /** The open asks to the human. */
  readonly asks: readonly Ask[];
}

/** The records of the whole mesh. */
export interface Records {
  /** Not retired, and without the human. */
  readonly peers: readonly Peer[];
  readonly open_asks: readonly Ask[];
  /** Undefined if no human is registered. */
  readonly inbox: Inbox | undefined;
  /** The number of the latest messages that wait for a transport, by recipient. */
  readonly queued: ReadonlyMap<string, number>;
  readonly messages: Messages;
  /** The results of a search; undefined while nothing is searched. */
  readonly found: (Messages & { readonly query: string }) | undefined;
  readonly loaded: boolean;
  /** When the connection was lost, in milliseconds; undefined while it is there. */
  readonly lost_at: number | undefined;
}

const NO_MESSAGES: Messages = { rows: [], hasMore: false };

export const NO_RECORDS: Records = {
  peers: [],
  open_asks: [],
  inbox: undefined,
  queued: new Map(),
  messages: NO_MESSAGES,
  found: undefined,
  loaded: false,
  lost_at: undefined,
};

/** A part of the records that is loaded as a whole. */
export type Topic = "peers" | "asks" | "inbox" | "messages" | "queued";

const PEERS = ["peers"] as const;
const ASKS = ["asks", "messages", "peers", "queued", "inbox"] as const;

/** The parts of the records that each event changes. */
const CONCERNS: Readonly<Record<EventType, readonly Topic[]>> = {
  peer_registered: PEERS,
  peer_updated: PEERS,
  peer_online: PEERS,
  peer_offline: ["peers", "asks"],
  peer_retired: ["peers", "asks"],
  peer_removed: ["peers", "asks"],
  peer_contradiction: [],
  lease: [],
  review_changed: [],
  file_overlap: [],
  joint_failure: [],
  joint_checked: [],
  budget: [],
  policy_denied: [],
  looping: PEERS,
  usage_counted: [],
  proof: ASKS,
  peer_restart_offline_ignored: PEERS,
  wake: ["peers", "messages", "queued"],
  peer_restart_started: PEERS,
  peer_restart_launched: PEERS,
  peer_restart_restarted: PEERS,
  peer_restart_failed: PEERS,
  peer_not_addressable: ["peers", "asks", "messages", "queued"],
  ask: ASKS,
  turn_failed: PEERS,
  turn_interrupted: PEERS,
  limit_changed: ["peers", "queued"],
  limit_storm: [],
  interrupt: PEERS,
  briefing: [],
  ask_reminded: ASKS,
  ack: ASKS,
  question: ["asks", "inbox"],
  answer: ["asks", "inbox"],
  notification: ["messages", "queued"],
  broadcast: ["messages", "queued"],
  deliveries_dropped: ["messages", "queued"],
  inbox_item: ["inbox", "asks", "messages"],
  inbox_updated: ["inbox"],
  surface_pushed: [],
  device_changed: [],
  push_subscription_changed: [],
  push_changed: [],
  chat_turn: PEERS,
  spawn: PEERS,
  job_state_changed: [],
  job_updated: [],
  job_template_changed: [],
  schedule_changed: [],
  schedule_fired: ["messages"],
  subscription_changed: [],
  subscription_fired: ["messages"],
  relay_status: [],
  bus_status: [],
  machine_changed: [],
};

export const ALL_TOPICS: readonly Topic[] = ["peers", "asks", "inbox", "messages", "queued"];

/** The parts that an event of the stream changes. Includes events that are only sent live. */
export function topicsOf(type: string): readonly Topic[] {
  if (type === "delivery") return ["messages", "queued"];
  if (type === "turn") return ["peers"];
  // The log has dropped events before they were read.
  if (type === "gap" || type === "ready") return ALL_TOPICS;
  return isEventType(type) ? CONCERNS[type] : [];
}

const isEventType = (type: string): type is EventType => Object.hasOwn(CONCERNS, type);
