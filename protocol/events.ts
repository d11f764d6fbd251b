/** The events that a daemon logs and publishes, and the fields of each. */

import * as z from "zod";

const id = z.string();
const nullableString = z.string().nullable();
/** The parent is present for a subagent, if its parent is registered. */
const peer = { peer_id: id, name: z.string(), parent_peer_id: id.optional() };
const from = { from_peer_id: nullableString, from: z.string() };
const to = { to_peer_id: id, to: z.string() };
/** Time at which the asker of a blocking question stops waiting. */
const expiry = { expires_at: z.string().optional() };
const fired = {
  state: id,
  outcome: id,
  error: nullableString,
  message_id: nullableString,
  ...from,
  to: z.string(), // The name that the schedule or the subscription holds: the peer may be gone.
};
const restart = { restart_id: id, peer_id: id, stage: id };

/** The fields of each event. Other fields, such as a message's text, are never published. */
export const EVENTS = {
  peer_registered: z.object({ ...peer, circle: id, backend: nullableString, role: id }),
  peer_updated: z.object(peer),
  peer_online: z.object({ ...peer, transport: id }),
  peer_offline: z.object({
    ...peer,
    reason: nullableString,
    source: nullableString,
    detail: nullableString,
    terminal: z.boolean(),
  }),
  peer_retired: z.object(peer),
  peer_removed: z.object(peer),
  peer_contradiction: z.object({ peer_id: id, code: id, severity: id }),
  peer_restart_offline_ignored: z.object({ restart_id: id, peer_id: id }),
  ask: z.object({ correlation_id: id, ...from, ...to, reply_delivery: id, ...expiry }),
  /** A lease was taken, released, or ended with its process; `state` says which. */
  lease: z.object({
    lease_id: id,
    resource: id,
    name: id.nullable(),
    port: z.number().nullable(),
    peer_id: id.nullable(),
    state: id,
  }),
  /** The changes in a folder were read and are others now, or a person decided about them. */
  review_changed: z.object({ review_id: id.nullable(), peer_id: id.nullable(), event: id }),
  /** Two peers write the same file, and were told. */
  file_overlap: z.object({ path: id, first_peer_id: id, second_peer_id: id }),
  /** A budget was opened, warned at two thirds, spent, granted again or stopped. */
  budget: z.object({ budget_id: id, scope: id, subject: id, state: id, event: id }),
  /** A rule of `policy` refused an act of a chain. */
  policy_denied: z.object({ rule: id, verb: id, origin: id, root: id, ...from }),
  /** A turn repeats its calls, or two peers answer each other without anything new. */
  looping: z.object({
    peer_id: id,
    name: z.string(),
    kind: id,
    other_peer_id: nullableString,
    times: z.number(),
  }),
  /** The work of two peers passes a check apart, and fails it together. */
  joint_failure: z.object({
    report_id: id,
    check: z.string(),
    first_peer_id: id,
    second_peer_id: id,
    correlation_id: nullableString,
  }),
  /** The results of joint checks have changed. */
  joint_checked: z.object({ repositories: z.number(), failing_pairs: z.number() }),
  /** Tokens of a peer were counted. */
  usage_counted: z.object({ peer_id: id }),
  /** An error ended a peer's turn. `error` is its class, such as `rate_limit`. */
  turn_failed: z.object({ peer_id: id, error: id }),
  /** The limits of an account changed. `reason` is the event of its state, or the next wait. */
  limit_changed: z.object({
    account_id: id,
    backend: nullableString,
    state: id,
    prior_state: id,
    window: nullableString,
    resets_at: nullableString,
    peer_id: nullableString,
    reason: id,
  }),
  /** An agent of an account sent requests in a storm at its limit, and was to be interrupted. */
  limit_storm: z.object({ peer_id: id, outcome: id }),
  /** A peer's turn was interrupted; `source` says where this was seen. */
  turn_interrupted: z.object({ peer_id: id, source: id }),
  /**
   * A peer's turn was to be interrupted. `started` comes right before the peer is asked, the
   * outcome or `refused` after it.
   */
  interrupt: z.object({
    peer_id: id,
    name: z.string(),
    ...from,
    outcome: id,
    by: nullableString,
    /** The source of a proof, or the code of the refusal. */
    reason: nullableString,
  }),
  /**
   * After `cause`, such as `compact`, an agent was told what it owes: `given` to its hook, then
   * `seen` by its model. `asks` is the number of open asks to the peer and from it.
   */
  briefing: z.object({ ...peer, cause: id, asks: z.number(), state: id }),
  /** An agent ended its turn, and was reminded of this ask. */
  ask_reminded: z.object({ correlation_id: id, ...from, ...to }),
  ack: z.object({
    correlation_id: id,
    close_reason: id,
    outcome: id,
    ...from,
    to_peer_id: nullableString, // An asker that is not a registered peer has only a name.
    to: z.string(),
  }),
  question: z.object({
    correlation_id: id,
    ...from,
    ...to,
    scope: nullableString,
    kind: id,
    ...expiry,
  }),
  answer: z.object({ correlation_id: id, scope: nullableString, outcome: id }),
  notification: z.object({ delivery_id: id, ...from, ...to, delivery_state: id }),
  broadcast: z.object({ ...from, sent_to: z.number() }),
  deliveries_dropped: z.object({ peer_id: id, count: z.number(), reason: id }),
  peer_not_addressable: z.object({
    peer_id: id,
    closed_asks: z.number(),
    dropped_deliveries: z.number(),
    addressable_reason: nullableString,
  }),
  inbox_item: z.object({
    item_id: id,
    kind: id,
    from: z.string(),
    from_peer_id: nullableString,
    correlation_id: nullableString,
    ...expiry,
  }),
  inbox_updated: z.object({
    item_id: id,
    read: z.boolean(),
    replied: z.boolean(),
    surface: nullableString,
  }),
  /** A step in the check of an answer. */
  proof: z.object({
    correlation_id: id,
    state: id,
    from_peer_id: nullableString,
    from: z.string(),
    to_peer_id: id,
    to: z.string(),
    verified: z.number().int(),
    refuted: z.number().int(),
    unknown: z.number().int(),
  }),
  chat_turn: z.object({ peer_id: id, role: id, turn_id: nullableString }),
  spawn: z.object({
    spawn_id: id,
    backend: id,
    circle: id,
    pane_id: id,
    peer_id: nullableString,
    registration_state: id,
    seed_state: nullableString,
  }),
  /** A sleeping peer is being woken, or goes back to sleep; the reason of a failure, a refusal. */
  wake: z.object({ wake_id: id, peer_id: id, name: z.string(), state: id, reason: nullableString }),
  peer_restart_started: z.object(restart),
  peer_restart_launched: z.object(restart),
  peer_restart_restarted: z.object(restart),
  peer_restart_failed: z.object({ ...restart, reason: id }),
  job_state_changed: z.object({
    job_id: id,
    state: id,
    prior_state: nullableString,
    phase: nullableString,
    state_reason: nullableString,
    attempt_id: nullableString,
  }),
  /** A job reported progress without a change of state; at most once a second for each job. */
  job_updated: z.object({ job_id: id, state: id, progress: z.number().nullable() }),
  /** A template was created, paused, resumed or cancelled. */
  job_template_changed: z.object({ calendar_id: id, state: id }),
  /** A schedule was created, edited or cancelled. */
  schedule_changed: z.object({ schedule_id: id, state: id }),
  schedule_fired: z.object({ schedule_id: id, kind: id, ...fired }),
  /** A subscription was created, or has ended. */
  subscription_changed: z.object({ subscription_id: id, state: id }),
  subscription_fired: z.object({ subscription_id: id, ...fired }),
  relay_status: z.object({ status: id, url: id, reason: nullableString }),
  bus_status: z.object({ status: id, url: id, reason: nullableString }),
  /** Another machine of the network came online, went offline, joined or was forgotten. */
  machine_changed: z.object({ daemon_id: id, name: z.string(), status: id }),
  /** A browser was paired, or its session has ended. */
  device_changed: z.object({ device_id: id, name: z.string(), state: id }),
  /** A device was added, changed or removed, or its push service no longer knows it. */
  push_subscription_changed: z.object({ subscription_id: id, name: z.string(), state: id }),
  /** A push to a device changed its state. */
  push_changed: z.object({
    push_id: id,
    subscription_id: id,
    item_id: nullableString,
    state: id,
    reason: nullableString,
  }),
  surface_pushed: z.object({ surface: z.string(), item_id: id, surface_ref: nullableString }),
} as const;

export type EventType = keyof typeof EVENTS;
type EventData<T extends EventType> = z.output<(typeof EVENTS)[T]>;

/** An event as it is stored and published. Ids are ascending numbers. */
export type MeshEvent = {
  [T in EventType]: { id: number; type: T; at: number; data: EventData<T> };
}[EventType];

/** A step of a delivery. It has no id and is not stored: steps are only sent live (contract 2). */
export interface DeliveryStep {
  readonly delivery_id: string;
  readonly to_peer_id: string;
  readonly state: string;
  readonly transport: string | null;
}

/** A peer began or ended a turn, or waits for its user. Like a step, it is only sent live. */
export interface TurnChange {
  readonly peer_id: string;
  readonly status: string;
  readonly turn_state: string | null;
  /** The kind of thing that the peer waits for. */
  readonly waits_for: string | null;
}
