/** Frames of `/ws` in both directions (contract 4), and the codes by which the daemon closes it. */

import * as z from "zod";
import { IdempotencyKey, Name, shortText } from "kit/core/schema.ts";
import { Traceparent } from "protocol/messages/contract.ts";
import { MessageProof } from "protocol/proofs/contract.ts";
import {
  AuthorKind,
  GivenMetadata,
  PaneId,
  Peer,
  ReportedWait,
  Role,
  TmuxSocket,
} from "protocol/peers/record.ts";
import { ErrorClass, TurnState } from "protocol/agents/contract.ts";
import { Attachments } from "protocol/messages/attachments.ts";

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
    display_name: z.string().describe(
      "The peer's name: 1 to 64 letters, digits, `.`, `_` or `-`. If another peer of the circle " +
        "has it, `-2` is appended",
    ),
    circle: Name.optional().describe("The circle to join; `default` if absent"),
    backend: z.string().describe("The kind of program: `sdk` for a program that you wrote"),
    path: shortText(4096).optional().describe("The folder in which the program works"),
    role: Role.optional().describe("`agent` if absent; a `service` is found from every circle"),
    peer_id: z.string().optional().describe("Claims this peer, which needs a proof"),
    birth_certificate: z.string().optional().describe(
      "Proves the claimed peer; from `POST /peers`",
    ),
    agent_pid: z.number().int().positive().optional().describe(
      "The process of the peer; proves it if this process holds the socket",
    ),
    runtime_session_id: shortText(255, 1).optional().describe(
      "The agent's own session id: the conversation that a plugin serves",
    ),
    pane_id: PaneId.optional().describe(
      "The tmux pane or kitty window of a plugin's agent, with `tmux_socket`",
    ),
    tmux_socket: TmuxSocket.optional().describe(
      "The socket of that pane's tmux server, or `kitty:` and the path of kitty's socket",
    ),
    auth_token: z.string().optional().describe(
      "The token of `daemon.auth_token`, if one is configured and the upgrade request had none",
    ),
    // Unknown capabilities are ignored, because newer clients may have more.
    capabilities: z.array(z.string()).default([]).describe(
      "`delivery_receipts`: sends a `delivery_ack` for each message. `inbox_surface`: shows the " +
        "human's inbox. `framed_text`: is an agent's plugin, and gets the text that an agent reads. " +
        "`interrupt`: stops its agent's turn on the frame `interrupt`",
    ),
    model: shortText(255).optional().describe("The model that the agent uses"),
    metadata: GivenMetadata.optional().describe(
      "Free fields, shown in the peer's record; `client_id` is not shown, and identifies the " +
        "client when it connects again",
    ),
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
  delivery_id: z.string().describe("The id of the message"),
  status: z.preprocess(
    (status) => status === "injected" ? "accepted" : status,
    z.enum(["accepted", "seen", "pushed", "failed", "rejected"]),
  ).describe(
    "`accepted`, or `injected`: the client has it; `seen`: its agent has read it; `failed`, `rejected`: it will " +
      "not be read; `pushed`: a surface has shown the inbox item",
  ),
  detail: z.string().max(4096).optional().describe("Why it failed or was rejected"),
  surface_ref: SurfaceRef.nullish().describe("The surface's id of the message that shows the item"),
  surface_refs: z.array(SurfaceRef).max(1000).nullish().describe(
    "The ids of all messages that show it, if it was split",
  ),
  error_class: z.string().max(255).nullish().describe("A short name of the surface's error"),
});
export type DeliveryAck = z.output<typeof DeliveryAck>;

const Status = z.object({
  type: z.literal("status"),
  status: z.enum(["online", "busy"]).describe("Whether the agent is at work"),
  turn_state: TurnState.nullish().transform((state) => state ?? undefined).describe(
    "More exactly, what the agent does; null if the client does not know",
  ),
  model: z.string().max(255).optional().describe("The model that it uses now"),
  waits_for: ReportedWait.optional().describe(
    "What the agent waits for: a dialog, with the turn state awaiting_input; a login; a limit",
  ),
  error: ErrorClass.optional().describe(
    "What ended the turn, if an error did: its class; `interrupted` if its user did",
  ),
});

const ChatTurn = z.object({
  type: z.literal("chat_turn"),
  role: z.enum(["user", "assistant"]).describe("Who said it"),
  text: z.string().describe("What was said; may be empty"),
  turn_id: z.string().max(255).optional().describe("The agent's own id of the turn"),
});

const Subagent = z.object({
  type: z.literal("subagent"),
  agent_id: shortText(255, 1).describe("The agent's own id of the subagent"),
  agent_type: z.string().max(255).default("").describe("Its kind, such as `explore`"),
  phase: z.enum(["started", "working", "ended"]).describe(
    "`started` also for one that goes on; `working`: it still runs",
  ),
});

const Compacted = z.object({ type: z.literal("compacted") });

const Pong = z.object({
  type: z.literal("pong"),
  ping_id: z.string().nullish().describe("That of the ping; any pong shows that the client lives"),
});

/** A frame that runs a verb of its peer, with the fields and headers of the verb's route. */
const verb = <T extends string>(type: T) =>
  z.looseObject({
    type: z.literal(type),
    request_id: z.string().max(255).describe("Chosen by the client; the `result` repeats it"),
    idempotency_key: IdempotencyKey.optional().describe(
      "A repeated `ask` or `notify` with this key is answered again, but sent once (24 hours)",
    ),
    traceparent: Traceparent.describe("A W3C trace context; the daemon chooses one if absent"),
  });

export const Inbound = z.discriminatedUnion("type", [
  DeliveryAck,
  Status,
  ChatTurn,
  Subagent,
  Compacted,
  Pong,
  verb("ask"),
  verb("notify"),
  verb("ack"),
  verb("decline"),
  verb("answer"),
]);
export type Inbound = z.output<typeof Inbound>;
export type Verb = Extract<Inbound, { request_id: string }>;

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

// Frames that the daemon sends.

const nullableString = z.string().nullable();

/** The sender of a message, and the id of its delivery. */
const fromFields = {
  delivery_id: z.string().describe("The id of the delivery, which its `delivery_ack` names"),
  from_peer: z.string().describe("The sender's name"),
  from_peer_id: nullableString.describe("The sender's id; null for a sender that is no peer"),
  voice: AuthorKind.describe(
    "`human` if the sender is proved to be the human; `unverified` if it only says so",
  ),
  sent_by: z.string().optional().describe(
    "The person who sent it in the sender's name; absent if the sender did",
  ),
  origin: z.string().optional().describe(
    "What began its chain, if that is outside: `app`, `guest`, or `machine` with what it reports",
  ),
  urgent: z.literal(true).optional().describe(
    "Whether it may be read within a running turn; absent if not",
  ),
  framed: z.string().optional().describe(
    "The text that an agent reads; only with the capability `framed_text`",
  ),
};

const messageFields = {
  ...fromFields,
  to_peer: z.string().describe("The recipient's name, which is the client's peer"),
  to_peer_id: z.string().describe("The recipient's id"),
  text: z.string().describe("The message"),
  attachments: Attachments.optional().describe("Its files; absent without any"),
  traceparent: z.string().describe("The W3C trace context of the message"),
};

const Connected = z.object({
  type: z.literal("connected"),
  peer_id: z.string().describe("The id of the client's peer"),
  session_id: z.string().describe("The same id, for clients that were written for another mesh"),
  display_name: z.string().describe("Its name, which may have got a number"),
  mesh_session_id: nullableString.describe("The id of its session"),
  server_version: z.string().describe("The daemon's version"),
});

const Ask = z.object({
  type: z.literal("ask"),
  correlation_id: z.string().describe("The id of the ask; its answer names it"),
  ...messageFields,
  reply_to: z.string().optional().describe("The earlier ask that this one continues"),
  question: z.record(z.string(), z.unknown()).optional().describe(
    "The structured question, if it is one",
  ),
  expires_at: z.string().optional().describe(
    "When the asker of a blocking question stops waiting; absent for other asks",
  ),
  prove: z.array(z.string()).optional().describe(
    "The checks that the daemon runs before the asker gets the answer; absent without any",
  ),
});

const Ack = z.object({
  type: z.literal("ack"),
  ...fromFields,
  correlation_id: nullableString.describe("The ask of this peer that has ended"),
  close_reason: nullableString.describe("How it ended, such as `ack_with_msg` or `declined`"),
  outcome: nullableString.describe("The same, in the words of structured questions"),
  text: nullableString.describe("The reply, or the reason why there is none; null without a text"),
  attachments: Attachments.optional().describe("The reply's files; absent without any"),
  traceparent: z.string().describe("The W3C trace context of the ask"),
  proof: MessageProof.pick({ state: true, results: true }).optional().describe(
    "What the daemon found when it checked the answer; absent if nothing was checked",
  ),
});

const InboxItemFrame = z.object({
  type: z.literal("inbox_item"),
  delivery_id: z.string().describe("The id of the delivery, which its `delivery_ack` names"),
  item: z.unknown().describe("The item, as `GET /inbox/{id}` returns it"),
  reply_to_ref: nullableString.describe(
    "The surface's id of its message that shows the item before, of the same thread",
  ),
});

const InboxUpdateFrame = z.object({
  type: z.literal("inbox_update"),
  item: z.unknown().describe(
    "An item whose ask has ended, as `GET /inbox/{id}` returns it: what offers an answer to it can " +
      "be taken away. It is also sent when the surface connects, for what ended meanwhile",
  ),
});

const Result = z.looseObject({
  type: z.literal("result"),
  request_id: z.string().describe("That of the verb"),
});

export const Outbound = z.discriminatedUnion("type", [
  Connected,
  Ask,
  z.object({ type: z.literal("notify"), ...messageFields }),
  z.object({ type: z.literal("broadcast"), ...messageFields }),
  Ack,
  InboxItemFrame,
  InboxUpdateFrame,
  z.object({
    type: z.literal("peer_update"),
    peer_id: z.string().describe("The id of the client's peer"),
    peer: Peer.describe("Its record, as `GET /peers/{id}` returns it"),
  }),
  z.object({
    type: z.literal("interrupt").describe(
      "The agent's turn is to be stopped; only with the capability `interrupt`. The client reports " +
        "the stopped turn by a `status` with the error `interrupted`",
    ),
  }),
  z.object({
    type: z.literal("ping"),
    ping_id: z.string().describe("Chosen by the daemon; the `pong` repeats it"),
  }),
  z.object({
    type: z.literal("error"),
    error: z.string().describe("The code of the refusal"),
    detail: z.string().describe("What is wrong"),
  }),
  Result,
]);
export type Outbound = z.input<typeof Outbound>;
