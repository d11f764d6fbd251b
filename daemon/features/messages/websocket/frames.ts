/** Frames on `/ws` (contract 4): schemas of inbound frames, types of outbound ones. */

import * as z from "zod";
import { IdempotencyKey, Name, shortText } from "kit/core/schema.ts";
import type { ProblemBody } from "kit/core/problem.ts";
import type { toWire } from "../attachments/contract.ts";
import { Traceparent } from "../contract.ts";
import { GivenMetadata, Role, TmuxSocket } from "../../peers/schemas.ts";
import { TurnState } from "../../agents/contract.ts";

export const FRAME_BYTES_MAX = 1_048_576;

/** Removes null fields, because null means absent, as in a request body. */
const withoutNulls = (frame: unknown) =>
  typeof frame === "object" && frame !== null && !Array.isArray(frame)
    ? Object.fromEntries(Object.entries(frame).filter(([, value]) => value !== null))
    : frame;

export const Connect = z.preprocess(
  withoutNulls,
  z.object({
    type: z.literal("connect"),
    display_name: z.string(),
    circle: Name.optional(),
    backend: z.string(),
    path: shortText(4096).optional(),
    role: Role.optional(),
    peer_id: z.string().optional(),
    birth_certificate: z.string().optional(),
    agent_pid: z.number().int().positive().optional(),
    /** The agent's own session id: the conversation that a plugin serves. */
    runtime_session_id: shortText(255, 1).optional(),
    pane_id: z.string().regex(/^%\d+$/, "A tmux pane id, such as %3").optional(),
    tmux_socket: TmuxSocket.optional(),
    auth_token: z.string().optional(),
    /**
     * `delivery_receipts`, `inbox_surface`, or `framed_text`. The last is for an agent's plugin,
     * which then receives the frame that the agent reads. Unknown capabilities are ignored, because
     * newer clients may have more.
     */
    capabilities: z.array(z.string()).default([]),
    model: shortText(255).optional(),
    metadata: GivenMetadata.optional(),
  }),
);
export type Connect = z.output<typeof Connect>;

/** A surface's own id of a message that it rendered. */
const SurfaceRef = z.union([
  z.string().max(4096).refine((ref) => !ref.includes("\0") && ref.isWellFormed(), "Not a ref"),
  z.number(),
]).transform(String);

const DeliveryAck = z.object({
  type: z.literal("delivery_ack"),
  delivery_id: z.string(),
  status: z.enum(["accepted", "seen", "pushed", "failed", "rejected"]),
  detail: z.string().max(4096).optional(),
  surface_ref: SurfaceRef.nullish(),
  surface_refs: z.array(SurfaceRef).max(1000).nullish(),
  error_class: z.string().max(255).nullish(),
});
export type DeliveryAck = z.output<typeof DeliveryAck>;

const Status = z.object({
  type: z.literal("status"),
  status: z.enum(["online", "busy"]),
  turn_state: TurnState.optional(),
  model: z.string().max(255).optional(),
});

const ChatTurn = z.object({
  type: z.literal("chat_turn"),
  role: z.enum(["user", "assistant"]),
  text: z.string(), // May be empty. Its only limit is the size of the frame.
  turn_id: z.string().max(255).optional(),
});

const Pong = z.object({ type: z.literal("pong"), ping_id: z.string() });

/**
 * A frame that runs a verb. It has the fields and headers of the verb's route; the sender is the
 * session's peer.
 */
const verb = <T extends string>(type: T) =>
  z.looseObject({
    type: z.literal(type),
    request_id: z.string().max(255),
    idempotency_key: IdempotencyKey.optional(),
    traceparent: Traceparent,
  });

export const Inbound = z.discriminatedUnion("type", [
  DeliveryAck,
  Status,
  ChatTurn,
  Pong,
  verb("ask"),
  verb("notify"),
  verb("ack"),
  verb("decline"),
  verb("answer"),
]);
export type Inbound = z.output<typeof Inbound>;
export type Verb = Extract<Inbound, { request_id: string }>;

interface FromPeer {
  delivery_id: string;
  /** The frame that the agent reads (contract 5); only for a connection with `framed_text`. */
  framed?: string;
  from_peer: string;
  from_peer_id: string | null;
}

interface MessageFields extends FromPeer {
  to_peer: string;
  to_peer_id: string;
  text: string;
  attachments?: ReturnType<typeof toWire>;
  traceparent: string;
}

export type Outbound =
  | {
    type: "connected";
    peer_id: string;
    display_name: string;
    mesh_session_id: string | null;
    server_version: string;
  }
  | (MessageFields & {
    type: "ask";
    correlation_id: string;
    reply_to?: string;
    question?: Record<string, unknown>;
  })
  | (MessageFields & { type: "notify" })
  | (MessageFields & { type: "broadcast" })
  | (FromPeer & {
    type: "ack";
    correlation_id: string | null;
    close_reason: string | null;
    outcome: string | null;
    text: string | null;
    attachments?: ReturnType<typeof toWire>;
    traceparent: string;
  })
  | { type: "inbox_item"; delivery_id: string; item: unknown; reply_to_ref: string | null }
  | { type: "peer_update"; peer_id: string; peer: unknown }
  | { type: "ping"; ping_id: string }
  | { type: "error"; error: string; detail: string }
  | ({ type: "result"; request_id: string } & (Record<string, unknown> | ProblemBody));

/** Close codes of the daemon (contract 4). */
export const CLOSE = {
  not_connect: 4000,
  unauthorized: 4001,
  bad_field: 4002,
  identity_not_proven: 4003,
  peer_retired: 4004,
  too_many_bad_frames: 4008,
  superseded: 4009,
  no_pong: 4010,
  too_slow: 4013,
  going_away: 1001,
} as const;
export type CloseReasonCode = keyof typeof CLOSE;
