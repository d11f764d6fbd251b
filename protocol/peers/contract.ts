/** Routes of peers: registration, records, liveness, profiles, and reports of turns. */

import * as z from "zod";
import { NO_ACTOR, Ok } from "kit/http/contract.ts";
import { contract } from "protocol/contract.ts";
import { Instant, Name, QueryFlag, shortText } from "kit/core/schema.ts";
import { ErrorClass, TurnState } from "protocol/agents/contract.ts";
import { Children } from "protocol/peers/subagents.ts";
import {
  onePeer,
  Peer,
  PEER_FAILS,
  PeerStatus,
  ProcessId,
  Provenance,
  Registered,
  Registration,
  ReportedWait,
  RestartBlock,
  Source,
} from "protocol/peers/record.ts";

export const registerPeer = contract({
  id: "peers.register",
  method: "POST",
  path: "/peers",
  summary: "Register a peer, or bring it back",
  access: "caller",
  tunnel: "never",
  body: Registration,
  actor: NO_ACTOR,
  returns: Registered,
  fails: [
    "peer_retired",
    "human_exists",
    "peers_full",
    "reserved_name",
    "identity_not_proven",
    "certificate_mismatch",
  ],
});

export const listPeers = contract({
  id: "peers.list",
  method: "GET",
  path: "/peers",
  compressed: true,
  summary: "List peers on all machines, including offline and retired ones",
  access: "caller",
  tunnel: "open",
  query: z.object({
    source: Source.optional(),
    addressable: QueryFlag.optional(),
    listed: QueryFlag.optional(),
    circle: Name.optional(),
    status: PeerStatus.optional(),
    live: QueryFlag.optional().describe(
      "With true, only peers that are not retired, and not offline for more than a week",
    ),
    subagents: QueryFlag.optional().describe(
      "With false, without the subagents that agents started; with true, only these",
    ),
  }),
  returns: z.object({ peers: z.array(Peer) }),
});
export type PeerFilter = z.output<typeof listPeers.query>;

export const getPeer = contract({
  id: "peers.get",
  method: "GET",
  path: "/peers/:id",
  compressed: true,
  summary: "One peer, by id or name",
  ...onePeer,
  tunnel: "open",
  returns: Peer.extend({ restart: RestartBlock, ...Children.shape }),
  fails: ["unknown_peer", "ambiguous_peer"],
});

export const peerByPane = contract({
  id: "peers.by_pane",
  method: "GET",
  path: "/peers/by-pane/:pane_id",
  described_path: "/panes/:pane_id/peer",
  summary: "The live peer that is registered on a pane",
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
  ...onePeer,
  tunnel: "never",
  body: z.object({
    reason: z.string().max(255).optional(),
    source: z.string().max(255).optional(),
    detail: z.string().max(4096).optional(),
    terminal: z.boolean().default(false),
    pane_id: z.string().optional(),
    agent_pid: ProcessId.optional(),
  }),
  actor: { field: "params.id" },
  returns: Ok,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer", "peer_elsewhere", "peer_retired"],
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
  actor: { field: "body.peer_id" },
  returns: Ok,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer", "peer_elsewhere", "peer_retired"],
});

export const closePeer = contract({
  id: "peers.close",
  method: "DELETE",
  path: "/peers/:id",
  summary: "Close a peer and remove it; its identity cannot be reclaimed",
  ...onePeer,
  tunnel: "open",
  returns: Ok,
  fails: ["role_fixed", "unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});

export const touchPeer = contract({
  id: "peers.touch",
  method: "POST",
  path: "/peers/:id/touch",
  summary: "Report that a peer is still running",
  ...onePeer,
  tunnel: "never",
  body: z.object({}),
  actor: { field: "params.id" },
  returns: Ok,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "peer_retired"],
});

export const describePeer = contract({
  id: "peers.describe",
  method: "POST",
  path: "/peers/:id/description",
  summary: "Set what a peer is working on; it expires after 15 minutes",
  ...onePeer,
  tunnel: "never",
  body: z.object({ description: shortText(2000) }),
  actor: { field: "params.id" },
  returns: Peer,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "peer_retired"],
});

export const renamePeer = contract({
  id: "peers.rename",
  method: "POST",
  path: "/peers/:id/name",
  summary: "Change a peer's display name",
  ...onePeer,
  tunnel: "open",
  body: z.object({ name: Name }),
  actor: { field: "params.id" },
  returns: Peer,
  fails: ["role_fixed", ...PEER_FAILS, "peer_retired", "reserved_name"],
});

export const setPeerProvenance = contract({
  id: "peers.provenance",
  method: "POST",
  path: "/peers/:id/provenance",
  summary: "Replace the provenance of a live peer",
  ...onePeer,
  tunnel: "never",
  body: Provenance,
  actor: { field: "params.id" },
  returns: Peer,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});

export const reportTurn = contract({
  id: "peers.turn",
  method: "POST",
  path: "/peers/:id/turn",
  summary: "Report a turn, as a hook saw it; the ids in `prompt` prove messages seen",
  ...onePeer,
  tunnel: "never",
  body: z.object({
    turn_state: TurnState.optional(),
    status: z.enum(["online", "busy"]).optional(),
    model: shortText(255).optional(),
    prompt: z.string().optional(),
    last_message: z.string().optional(),
    waits_for: ReportedWait.optional().describe(
      "What the agent waits for: a dialog, with the turn state awaiting_input; a login; a limit",
    ),
    error: ErrorClass.optional().describe(
      "What ended the turn, if an error did: its class; `interrupted` if its user did",
    ),
  }),
  actor: { field: "params.id" },
  returns: Ok,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "peer_retired"],
});
export type Turn = z.output<typeof reportTurn.body>;

/** A prompt, or the final message of a turn. */
export const AgentTurn = z.object({
  role: z.enum(["user", "assistant"]),
  text: z.string(),
  /** The text was cut to 4,000 characters, or its longer tool calls were left out. */
  truncated: z.boolean(),
  tool_calls: z.array(z.unknown()),
  at: Instant,
});
export type AgentTurn = z.output<typeof AgentTurn>;

export const listTurns = contract({
  id: "peers.turns",
  method: "GET",
  path: "/peers/:id/turns",
  summary: "List an agent's latest prompts and final messages, which are only kept in memory",
  ...onePeer,
  tunnel: "admin",
  returns: z.object({ turns: z.array(AgentTurn) }),
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});

export const reportChat = contract({
  id: "peers.chat",
  method: "POST",
  path: "/events/chat",
  summary: "Report a chat message of a turn; the ids in a user's text prove messages seen",
  access: "caller",
  tunnel: "never",
  body: z.object({
    peer_id: z.string(),
    role: z.enum(["user", "assistant"]),
    text: z.string(),
    turn_id: z.string().max(255).optional(),
    tool_calls: z.array(z.unknown()).optional(),
  }),
  actor: { field: "body.peer_id" },
  returns: Ok,
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "peer_retired"],
});
export type Chat = Pick<z.output<typeof reportChat.body>, "role" | "text" | "turn_id"> & {
  readonly tool_calls?: readonly unknown[] | undefined;
};
