/** Records as the daemon sends them, for tests of the dashboard's functions. */

import type { Ask, Message, Peer } from "../../../dashboard/state/records.ts";

const MADE_AT = "2026-01-01T12:00:00.000Z";

/** A message from ada (`a`) to bob (`b`) that was just created. */
export function messageOf(fields: Partial<Message>): Message {
  return {
    message_id: "notif-1",
    delivery_id: "notif-1",
    kind: "notify",
    correlation_id: null,
    from_peer_id: "a",
    from_peer_name: "ada",
    to_peer_id: "b",
    to_peer_name: "bob",
    voice: "peer",
    unverified: false,
    sent_by: null,
    urgent: false,
    circle: null,
    text: "Hello",
    attachments: [],
    reply_to: null,
    parent_id: null,
    state: "sent",
    reason: null,
    created_at: MADE_AT,
    sent_at: null,
    accepted_at: null,
    seen_at: null,
    closed_at: null,
    close_reason: null,
    outcome: null,
    reply: null,
    reply_voice: null,
    responder: null,
    ...fields,
  };
}

/** An open ask between the peers of these names, made this many seconds after noon. */
export function askOf(from: string, to: string, second = 0): Ask {
  return {
    correlation_id: `${from} ${to}`,
    from_peer_id: from,
    from_peer_name: from,
    to_peer_id: to,
    to_peer_name: to,
    voice: "peer",
    unverified: false,
    circle: null,
    text: "Ready?",
    attachments: [],
    reply_to: null,
    parent_id: null,
    question: null,
    answer: null,
    origin: null,
    routing: null,
    reply_delivery: "push",
    state: "open",
    status: "pending",
    close_reason: null,
    outcome: null,
    reply: null,
    reply_voice: null,
    reply_attachments: [],
    responder: null,
    created_at: new Date(Date.parse(MADE_AT) + second * 1000).toISOString(),
    expires_at: null,
    delivered_at: null,
    seen_at: null,
    reminded_at: null,
    closed_at: null,
  };
}

/** An agent that is online and idle, and was seen at noon. */
export function peerOf(fields: Partial<Peer> & { readonly name: string }): Peer {
  const { name } = fields;
  return {
    peer_id: name,
    display_name: name,
    path: null,
    machine: null,
    daemon_id: "dm-1",
    tmux_session: null,
    terminal: null,
    tmux_socket: null,
    pane_id: null,
    backend: null,
    model: null,
    circle: "default",
    role: "agent",
    status: "online",
    turn_state: null,
    waits_for: null,
    last_seen: MADE_AT,
    description: null,
    tags: [],
    reminders: null,
    queue_max: null,
    pair_per_minute: null,
    hook_messages: true,
    metadata: {},
    agent_pid: null,
    mesh_session_id: null,
    source: "unknown",
    parent_peer_id: null,
    ephemeral: false,
    addressable: true,
    transport: "websocket",
    ws_connected: true,
    inbound_status: "ok",
    last_delivery_at: null,
    last_delivery_failure_at: null,
    pending_ask_count: 0,
    oldest_pending_age_seconds: null,
    registered_at: MADE_AT,
    ...fields,
  };
}
