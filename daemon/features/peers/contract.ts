/** What the world may say about peers: who is here, how it is reached, how it comes and goes. */

import * as z from "zod";
import { contract, Ok } from "kit/http/contract.ts";
import { Instant, Name, QueryFlag, shortText } from "kit/core/schema.ts";
import { Backend, Transport, TurnState } from "../agents/contract.ts";
import { RestartBlock } from "./restart.ts";
import { looksLike, skeletonOf } from "./identity/lookalikes.ts";
import { peerMachine } from "./machine.ts";

export const Role = z.enum(["agent", "orchestrator", "service", "human"]);
export type Role = z.infer<typeof Role>;

/** Fixed names of the human, as a surface would say it (contract 2). */
export const ALIASES: readonly string[] = ["dashboard", "telegram"];

/** Names that are the human's or the relay's own, and what looks like them (contract 2). */
export function isReserved(name: string): boolean {
  return ALIASES.some((alias) => looksLike(name, alias)) || skeletonOf(name).startsWith("mcp-");
}

/** Who speaks: a peer, the human through a proven door, or one who only says so (contract 2). */
export const AuthorKind = z.enum(["peer", "human", "unverified"]);
export type AuthorKind = z.infer<typeof AuthorKind>;

export const PeerStatus = z.enum(peerMachine.states);

export const Source = z.enum(["hook", "backend-app-server", "unknown"]);
export const Initiator = z.enum(["user", "agent", "system"]);
export const InboundStatus = z.enum(["ok", "offline", "no_transport", "pane_unsafe", "degraded"]);

const METADATA_BYTES_MAX = 65_536;
/** More levels than a reader of the list of peers can be asked to follow. */
const METADATA_DEPTH_MAX = 64;
/** What a runtime says of itself: small enough to be read with every record. */
const Metadata = z.record(z.string(), z.unknown());
export const GivenMetadata = Metadata.refine(
  isSmall,
  `Longer than ${METADATA_BYTES_MAX} bytes as JSON, or deeper than ${METADATA_DEPTH_MAX} levels`,
);
const nullableString = z.string().nullable();

/** The peer record (specification 2, contract 2). */
export const Peer = z.object({
  peer_id: z.string(),
  name: z.string(),
  display_name: z.string(),
  path: nullableString,
  machine: nullableString,
  daemon_id: z.string(),
  tmux_session: nullableString,
  tmux_socket: nullableString,
  pane_id: nullableString,
  backend: Backend.nullable(),
  model: nullableString,
  circle: z.string(),
  role: Role,
  status: PeerStatus,
  turn_state: TurnState.nullable(),
  last_seen: Instant.nullable(),
  description: nullableString,
  metadata: Metadata,
  agent_pid: z.number().int().nullable(),
  mesh_session_id: nullableString,
  source: Source,
  initiator: Initiator.optional(),
  parent_runtime_id: z.string().optional(),
  parent_peer_id: nullableString,
  ephemeral: z.boolean(),
  addressable: z.boolean(),
  addressable_reason: z.string().optional(),
  transport: Transport,
  ws_connected: z.boolean(),
  inbound_status: InboundStatus,
  last_delivery_at: Instant.nullable(),
  last_delivery_failure_at: Instant.nullable(),
  pending_ask_count: z.number().int(),
  oldest_pending_age_seconds: z.number().nullable(),
  registered_at: Instant,
}).meta({ id: "Peer" });
export type Peer = z.output<typeof Peer>;

/** How a peer came to be (specification 2). A fresh one replaces all that was known. */
export const Provenance = z.object({
  source: Source.optional(),
  initiator: Initiator.optional(),
  parent_runtime_id: shortText(1000, 1).optional(),
  ephemeral: z.boolean().optional(),
  addressable: z.boolean().optional(),
  addressable_reason: shortText(1000).optional(),
});
export type Provenance = z.output<typeof Provenance>;

/** Whether it may be connected to is looked at where the daemon runs (contract 3). */
export const TmuxSocket = shortText(4096, 1).regex(
  /^\/\P{Cc}*$/u,
  "The absolute path of a tmux socket",
);

const pid = z.number().int().positive();
/** Null, as in the record, is as good as absent. */
const known_pid = pid.nullable().transform((said) => said ?? undefined).optional();

export const Registration = z.object({
  name: Name.optional(),
  peer_id: z.string().optional(),
  path: shortText(4096, 1),
  machine: shortText(255).optional(),
  tmux_session: shortText(255).optional(),
  tmux_socket: TmuxSocket.optional(),
  pane_id: z.string().regex(/^%\d+$/, "A tmux pane id, such as %3").optional(),
  backend: Backend,
  model: shortText(255).optional(),
  circle: Name.optional(),
  role: Role.optional(),
  turn_state: TurnState.optional(),
  agent_pid: known_pid,
  parent_pid: known_pid,
  runtime_session_id: shortText(255, 1).optional(),
  birth_certificate: z.string().optional(),
  metadata: GivenMetadata.optional(),
  provenance: Provenance.optional(),
});
export type Registration = z.output<typeof Registration>;

export const Registered = z.object({
  ok: z.literal(true),
  peer_id: z.string(),
  display_name: z.string(),
  circle: z.string(),
  role: Role,
  mesh_session_id: z.string(),
  /** Given at a first registration, and against a certificate or a proved process; else null. */
  birth_certificate: z.string().nullable(),
});

export const registerPeer = contract({
  id: "peers.register",
  method: "POST",
  path: "/peers",
  summary: "Register a peer, or bring it back",
  access: "caller",
  tunnel: "never",
  body: Registration,
  returns: Registered,
  fails: [
    "peer_retired",
    "human_exists",
    "reserved_name",
    "identity_not_proven",
    "certificate_mismatch",
  ],
});

export const listPeers = contract({
  id: "peers.list",
  method: "GET",
  path: "/peers",
  summary: "Everything that has a record, offline and retired included",
  access: "caller",
  tunnel: "open",
  query: z.object({
    source: Source.optional(),
    addressable: QueryFlag.optional(),
    listed: QueryFlag.optional(),
    circle: Name.optional(),
    status: PeerStatus.optional(),
  }),
  returns: z.object({ peers: z.array(Peer) }),
});
export type PeerFilter = z.output<typeof listPeers.query>;

const byId = z.object({ id: z.string() });
const circle = z.object({ circle: Name.optional() });

export const getPeer = contract({
  id: "peers.get",
  method: "GET",
  path: "/peers/:id",
  summary: "One peer, by id or name",
  access: "caller",
  tunnel: "open",
  params: byId,
  query: circle,
  returns: Peer.extend({ restart: RestartBlock }),
  fails: ["unknown_peer", "ambiguous_peer"],
});

export const peerByPane = contract({
  id: "peers.by_pane",
  method: "GET",
  path: "/peers/by-pane/:pane_id",
  summary: "The live peer that is registered on a tmux pane",
  access: "caller",
  tunnel: "never",
  params: z.object({ pane_id: z.string() }),
  query: z.object({ tmux_socket: z.string().optional() }),
  returns: Peer,
  fails: ["no_pane_peer"],
});

export const offlinePeer = contract({
  id: "peers.offline",
  method: "POST",
  path: "/peers/:id/offline",
  summary: "Take a peer offline; `terminal` retires it for good",
  access: "caller",
  tunnel: "never",
  params: byId,
  query: circle,
  body: z.object({
    reason: z.string().max(255).optional(),
    source: z.string().max(255).optional(),
    detail: z.string().max(4096).optional(),
    terminal: z.boolean().default(false),
    pane_id: z.string().optional(),
    agent_pid: pid.optional(),
  }),
  returns: Ok,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer", "peer_retired"],
});
export type Offline = z.output<typeof offlinePeer.body>;

export const unregisterPeer = contract({
  id: "peers.unregister",
  method: "POST",
  path: "/peer/unregister",
  summary: "Drop a registration; the same session may register again",
  access: "caller",
  tunnel: "never",
  body: z.object({ peer_id: z.string() }),
  returns: Ok,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer", "peer_retired"],
});

export const closePeer = contract({
  id: "peers.close",
  method: "DELETE",
  path: "/peers/:id",
  summary: "Close a peer and remove it; its identity cannot be reclaimed",
  access: "caller",
  tunnel: "open",
  params: byId,
  query: circle,
  returns: Ok,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer"],
});

export const touchPeer = contract({
  id: "peers.touch",
  method: "POST",
  path: "/peers/:id/touch",
  summary: "Say that a peer is still here",
  access: "caller",
  tunnel: "never",
  params: byId,
  query: circle,
  body: z.object({}),
  returns: Ok,
  fails: ["unknown_peer", "ambiguous_peer", "peer_retired"],
});

export const describePeer = contract({
  id: "peers.describe",
  method: "POST",
  path: "/peers/:id/description",
  summary: "Say what a peer is working on; cleared when read after 15 minutes",
  access: "caller",
  tunnel: "never",
  params: byId,
  query: circle,
  body: z.object({ description: shortText(2000) }),
  returns: Peer,
  fails: ["unknown_peer", "ambiguous_peer", "peer_retired"],
});

export const renamePeer = contract({
  id: "peers.rename",
  method: "POST",
  path: "/peers/:id/name",
  summary: "Give a peer another display name",
  access: "caller",
  tunnel: "open",
  params: byId,
  query: circle,
  body: z.object({ name: Name }),
  returns: Peer,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer", "peer_retired", "reserved_name"],
});

export const provePeer = contract({
  id: "peers.provenance",
  method: "POST",
  path: "/peers/:id/provenance",
  summary: "Replace the provenance of a live peer",
  access: "caller",
  tunnel: "never",
  params: byId,
  query: circle,
  body: Provenance,
  returns: Peer,
  fails: ["unknown_peer", "ambiguous_peer"],
});

export const reportTurn = contract({
  id: "peers.turn",
  method: "POST",
  path: "/peers/:id/turn",
  summary: "What a hook saw of a turn; the ids in `prompt` prove messages seen",
  access: "caller",
  tunnel: "never",
  params: byId,
  query: circle,
  body: z.object({
    turn_state: TurnState.optional(),
    status: z.enum(["online", "busy"]).optional(),
    model: shortText(255).optional(),
    prompt: z.string().optional(),
    last_message: z.string().optional(),
  }),
  returns: Ok,
  fails: ["unknown_peer", "ambiguous_peer", "peer_retired"],
});
export type Turn = z.output<typeof reportTurn.body>;

export const reportChat = contract({
  id: "peers.chat",
  method: "POST",
  path: "/events/chat",
  summary: "What was said in a turn; the ids in a user's text prove messages seen",
  access: "caller",
  tunnel: "never",
  body: z.object({
    peer_id: z.string(),
    role: z.enum(["user", "assistant"]),
    text: z.string(),
    turn_id: z.string().max(255).optional(),
    tool_calls: z.array(z.unknown()).optional(),
  }),
  returns: Ok,
  fails: ["unknown_peer", "ambiguous_peer", "peer_retired"],
});
export type Chat = Pick<z.output<typeof reportChat.body>, "role" | "text" | "turn_id">;

/** JSON of bounded size and depth. */
function isSmall(metadata: Record<string, unknown>): boolean {
  return !isDeeper(metadata, METADATA_DEPTH_MAX) &&
    JSON.stringify(metadata).length <= METADATA_BYTES_MAX;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The few facts by which a message finds its way. */
export const Address = z.object({
  peer_id: z.string(),
  name: z.string(),
  circle: z.string(),
  backend: Backend.nullable(),
  role: Role,
  status: PeerStatus,
  addressable: z.number(),
  parent_runtime_id: z.string().nullable(),
  mesh_session_id: z.string().nullable(),
  closed: z.number(),
  dropped_at: z.number().nullable(),
});
export type Address = z.output<typeof Address>;
