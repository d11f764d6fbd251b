/** An example of each frame on `/ws`, for its page; a test checks them against the schemas. */

import type { Inbound, Outbound } from "../../../daemon/features/messages/websocket/frames.ts";

type Example = Readonly<Record<string, unknown>>;
/** The purpose of each frame, and an example of it. */
type Examples<Type extends string> = Readonly<
  Record<Type, { readonly about: string; readonly example: Example }>
>;

const API = "peer-5e1f0a9b7c21";
const WEB = "peer-83d2c6b40f17";
const ASK = "ask-2b90e4d1a6c8";
const DELIVERY = "qd-2b90e4d1a6c8";
const NOTICE = "notif-71c3f8e05d92";
const ACK = "qd-90ab3d7e1f64";
const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

const FROM_WEB = { from_peer: "web", from_peer_id: WEB, voice: "peer" };
const TO_API = { to_peer: "api", to_peer_id: API };

export const CLIENT_FRAMES: Examples<"connect" | Inbound["type"]> = {
  connect: {
    about: "The first frame of each connection. It registers the client's peer.",
    example: {
      display_name: "api",
      backend: "sdk",
      path: "/home/sam/work/api",
      capabilities: ["delivery_receipts"],
      metadata: { client_id: "d8a3f1c2-6b7e-4f50-9a31-0c5e2b7d4e96" },
    },
  },
  delivery_ack: {
    about: "A receipt for one message.",
    example: { delivery_id: DELIVERY, status: "seen" },
  },
  status: {
    about: "Reports that the client's agent began or ended a turn.",
    example: { status: "busy", turn_state: "working" },
  },
  chat_turn: {
    about:
      "Reports what was said in the agent's own conversation. The last text of a turn is the " +
      "result of a job that the agent does.",
    example: { role: "assistant", text: "All tests pass.", turn_id: "t-12" },
  },
  subagent: {
    about:
      "Reports a subagent that the client's agent started, or its end. It is a peer that takes no " +
      "messages: a child of the client's peer.",
    example: { agent_id: "ses_2", agent_type: "explore", phase: "started" },
  },
  compacted: {
    about:
      "Reports that the agent's conversation was compacted. If something is owed by the peer or to " +
      "it, it gets a message with that; see [agents.md](agents.md#briefings).",
    example: {},
  },
  pong: { about: "Answers a `ping`.", example: { ping_id: "7" } },
  ask: {
    about: "Asks another peer. The `result` has the id of the ask; an `ack` frame tells its end.",
    example: {
      request_id: "1",
      idempotency_key: "8f0d2b1c-ask-1",
      to_peer: "web",
      text: "Which endpoint does the login form call?",
    },
  },
  notify: {
    about: "Sends another peer a message that needs no reply.",
    example: { request_id: "2", to_peer: "web", text: "The new endpoint is deployed." },
  },
  ack: {
    about: "Answers an ask, or acknowledges it if there is no `message`.",
    example: { request_id: "3", correlation_id: ASK, message: "Port 5432." },
  },
  decline: {
    about: "Closes an ask without an answer.",
    example: { request_id: "4", correlation_id: ASK, reason: "I do not know that service." },
  },
  answer: {
    about: "Answers a structured question, which is an ask with a `question`.",
    example: { request_id: "5", correlation_id: ASK, option_id: "yes" },
  },
};

export const DAEMON_FRAMES: Examples<Outbound["type"]> = {
  connected: {
    about: "The handshake has succeeded.",
    example: {
      peer_id: API,
      session_id: API,
      display_name: "api",
      mesh_session_id: "ms-0c47e19b82d5",
      server_version: "0.1.0",
    },
  },
  ask: {
    about: "Another peer asks this one. Answer with `ack`, `decline` or `answer`.",
    example: {
      correlation_id: ASK,
      delivery_id: DELIVERY,
      ...FROM_WEB,
      ...TO_API,
      text: "Which port does the database use?",
      traceparent: TRACE,
    },
  },
  notify: {
    about: "A message that needs no reply.",
    example: {
      delivery_id: NOTICE,
      ...FROM_WEB,
      ...TO_API,
      text: "The staging server restarts at noon.",
      traceparent: TRACE,
    },
  },
  broadcast: {
    about: "A message to all agents of the circle. Its fields are those of `notify`.",
    example: {
      delivery_id: NOTICE,
      ...FROM_WEB,
      ...TO_API,
      text: "Please do not push to main now.",
      traceparent: TRACE,
    },
  },
  ack: {
    about: "An ask of this peer has ended, in whatever way.",
    example: {
      delivery_id: ACK,
      ...FROM_WEB,
      correlation_id: ASK,
      close_reason: "ack_with_msg",
      outcome: "answered",
      text: "POST /session, since Monday.",
      traceparent: TRACE,
    },
  },
  inbox_item: {
    about: "An item of the human's inbox, for a surface (capability `inbox_surface`).",
    example: {
      delivery_id: "qd-6f20b8d3c1a7",
      item: { item_id: "inb-4c8e2f60a9d1", kind: "notify", from: "web", text: "Deployed." },
      reply_to_ref: null,
    },
  },
  inbox_update: {
    about: "The ask of an item has ended: a surface takes away what offers an answer to it.",
    example: {
      item: {
        item_id: "inb-4c8e2f60a9d1",
        kind: "ask",
        from: "web",
        text: "@web wants to use Bash",
        state: "closed",
        outcome: "allowed_there",
        responder: "terminal",
      },
    },
  },
  peer_update: {
    about: "The record of this client's own peer has changed, for example its name.",
    example: {
      peer_id: API,
      peer: {
        peer_id: API,
        name: "backend",
        display_name: "backend",
        path: "/home/sam/work/api",
        machine: "laptop",
        daemon_id: "dm-1f7b3a90c6e2",
        tmux_session: null,
        terminal: null,
        tmux_socket: null,
        pane_id: null,
        backend: "sdk",
        model: null,
        circle: "default",
        role: "agent",
        status: "online",
        turn_state: null,
        last_seen: "2026-05-04T09:30:00.000Z",
        description: null,
        tags: [],
        reminders: null,
        queue_max: null,
        pair_per_minute: null,
        hook_messages: true,
        wake_policy: null,
        wake: null,
        metadata: {},
        agent_pid: null,
        mesh_session_id: "ms-0c47e19b82d5",
        source: "unknown",
        parent_peer_id: null,
        ephemeral: false,
        addressable: true,
        transport: "websocket",
        ws_connected: true,
        inbound_status: "ok",
        waits_for: null,
        offline_since: null,
        offline_reason: null,
        last_delivery_at: null,
        last_delivery_failure_at: null,
        pending_ask_count: 0,
        oldest_pending_age_seconds: null,
        registered_at: "2026-05-04T09:12:41.508Z",
      },
    },
  },
  interrupt: {
    about:
      "A person, or the orchestrator of the circle, wants the peer's turn to stop. Sent only " +
      "to a client with the capability `interrupt`; report the end of the turn as usual.",
    example: {},
  },
  ping: {
    about: "Sent every 20 seconds. Answer with `pong`.",
    example: { ping_id: "7" },
  },
  error: {
    about: "A frame was refused. A refused `connect` also closes the socket.",
    example: { error: "bad_frame", detail: "The frame is not JSON" },
  },
  result: {
    about: "The answer to a verb: either the response of its route, or a refusal with `error`, " +
      "`detail`, perhaps a `hint`, and fields of its own.",
    example: {
      request_id: "1",
      correlation_id: ASK,
      trace_id: ASK,
      to_peer_id: WEB,
      to_peer_name: "web",
      delivery_state: "sent",
    },
  },
};
