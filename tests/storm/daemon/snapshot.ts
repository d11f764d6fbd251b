/** A snapshot of all rows; the invariants compare it with the previous one. */

import * as z from "zod";
import type { Daemon } from "../../../daemon/app/daemon.ts";

const nullableText = z.string().nullable();
const Message = z.object({
  seq: z.number(),
  ident: z.string(),
  kind: z.string(),
  correlation_id: nullableText,
  from_peer_id: nullableText,
  from_peer_name: z.string(),
  to_peer_id: z.string(),
  text: z.string(),
  state: z.string(),
  transport: nullableText,
  repeatable: z.number(),
  created_at: z.number(),
  expires_at: z.number().nullable(),
  ask_state: nullableText,
  reply_delivery: nullableText,
  close_reason: nullableText,
});
export type Message = z.output<typeof Message>;

const Peer = z.object({
  peer_id: z.string(),
  name: z.string(),
  circle: z.string(),
  role: z.string(),
  status: z.string(),
  addressable: z.number(),
  dropped_at: z.number().nullable(),
  closed: z.number(),
  tmux_socket: nullableText,
  pane_id: nullableText,
  agent_pid: z.number().nullable(),
  agent_started: nullableText,
});
export type Peer = z.output<typeof Peer>;

/** True if a peer is recorded as live. */
export function isHere({ status, dropped_at }: Peer): boolean {
  return (status === "online" || status === "busy") && dropped_at === null;
}

const Item = z.object({
  item_id: z.string(),
  kind: z.string(),
  correlation_id: nullableText,
  replied_at: z.number().nullable(),
});

const Job = z.object({
  job_id: z.string(),
  state: z.string(),
  current_attempt_id: nullableText,
  lease_until: z.number().nullable(),
  expires_at: z.number().nullable(),
  result_summary: nullableText,
  updated_at: z.number(),
});
export type Job = z.output<typeof Job>;

const Attempt = z.object({
  attempt_id: z.string(),
  job_id: z.string(),
  state: z.string(),
  executor_peer_id: nullableText,
  delivery_id: nullableText,
  armed_at: z.number().nullable(),
  ended_at: z.number().nullable(),
});

const Template = z.object({
  calendar_id: z.string(),
  state: z.string(),
  next_due_at: z.number().nullable(),
});

export interface Snapshot {
  readonly jobs: ReadonlyMap<string, Job>;
  readonly attempts: readonly z.output<typeof Attempt>[];
  readonly templates: ReadonlyMap<string, z.output<typeof Template>>;
  /** The id of the last event on the disk. */
  readonly last_event: number;
  readonly messages: readonly Message[];
  readonly byIdent: ReadonlyMap<string, Message>;
  readonly peers: ReadonlyMap<string, Peer>;
  readonly inboxItems: readonly z.output<typeof Item>[];
}

export function takeSnapshot({ ctx: { db, events } }: Daemon): Snapshot {
  const messages = db.all(
    Message,
    `select seq, ident, kind, correlation_id, from_peer_id, from_peer_name, to_peer_id, text,
       state, rung as transport, repeatable, created_at, expires_at, ask_state, reply_delivery,
       close_reason
     from messages order by seq`,
  );
  const peers = db.all(
    Peer,
    `select peer_id, name, circle, role, status, addressable, dropped_at, closed, tmux_socket,
       pane_id, agent_pid, agent_started
     from peers`,
  );
  const inboxItems = db.all(
    Item,
    "select item_id, kind, correlation_id, replied_at from inbox_items",
  );
  const jobs = db.all(
    Job,
    `select job_id, state, current_attempt_id, lease_until, expires_at, result_summary, updated_at
     from jobs order by seq`,
  );
  const attempts = db.all(
    Attempt,
    `select attempt_id, job_id, state, executor_peer_id, delivery_id, armed_at, ended_at
     from job_attempts order by seq`,
  );
  const templates = db.all(Template, "select calendar_id, state, next_due_at from job_templates");
  return {
    jobs: new Map(jobs.map((job) => [job.job_id, job])),
    attempts,
    templates: new Map(templates.map((template) => [template.calendar_id, template])),
    last_event: events.last,
    messages,
    byIdent: new Map(messages.map((message) => [message.ident, message])),
    peers: new Map(peers.map((peer) => [peer.peer_id, peer])),
    inboxItems,
  };
}

/** The 12 digits that all ids of a message share. */
export function identOf(id: string): string {
  return id.slice(id.indexOf("-") + 1);
}
