/** The routes that identify, link, repair, end and examine peers, as data. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { contract, nullableString } from "protocol/contract.ts";
import { Instant, Name } from "kit/core/schema.ts";
import {
  onePeer,
  PANE_FAILS,
  PaneId,
  Peer,
  PEER_FAILS,
  Role,
  TmuxSocket,
} from "protocol/peers/record.ts";
import { Backend } from "protocol/agents/contract.ts";

const path = z.string().min(1).max(4096);

export const validateIdentity = contract({
  id: "peers.identity_validate",
  method: "POST",
  path: "/peers/identity/validate",
  summary: "Check a birth certificate, and bring its peer online",
  access: "caller",
  tunnel: "never",
  body: z.object({
    birth_certificate: z.string(),
    backend: Backend,
    path,
    pane_id: PaneId.optional(),
    agent_pid: z.number().int().positive().optional(),
  }),
  actor: NO_ACTOR,
  returns: z.object({
    ok: z.literal(true),
    peer_id: z.string(),
    display_name: z.string(),
    peer: Peer,
  }),
  fails: ["certificate_mismatch", "unknown_peer", "peer_retired"],
});
export type Validation = z.output<typeof validateIdentity.body>;

export const renewIdentity = contract({
  id: "peers.identity_renew",
  method: "POST",
  path: "/peers/identity/renew",
  summary:
    "Exchange a birth certificate, expired or not, for a fresh one while its peer is connected",
  access: "caller",
  tunnel: "never",
  body: z.object({ birth_certificate: z.string(), backend: Backend, path }),
  returns: z.object({ birth_certificate: z.string(), expires_at: Instant }),
  fails: ["certificate_mismatch", "no_runtime_session", "not_connected"],
});
export type Renewal = z.output<typeof renewIdentity.body>;

export const Orphan = z.object({
  pane_id: z.string(),
  tmux_socket: z.string(),
  pid: z.number().int(),
  command: z.string(),
  cwd: z.string(),
  session: z.string(),
  window: z.string(),
  /** A guess at the kind of agent, for display only. */
  backend_hint: Backend.nullable(),
  confidence: z.enum(["hint", "unknown"]),
});
export type Orphan = z.output<typeof Orphan>;

export const listOrphans = contract({
  id: "panes.orphans",
  method: "GET",
  path: "/panes/orphans",
  summary: "Tmux panes of this machine without a live registered peer",
  access: "caller",
  tunnel: "open",
  returns: z.object({ panes: z.array(Orphan) }),
});

export const LinkResult = z.discriminatedUnion("linked", [
  z.object({ linked: z.literal(true), peer_id: z.string(), display_name: z.string() }),
  z.object({ linked: z.literal(false), reason: z.string(), hint: z.string() }),
]);
export type LinkResult = z.output<typeof LinkResult>;

export const linkPane = contract({
  id: "panes.link",
  method: "POST",
  path: "/panes/:pane_id/link",
  summary: "Register the agent in a pane, if a live transport reaches it",
  access: "caller",
  tunnel: "admin",
  params: z.object({ pane_id: z.string() }),
  query: z.object({ tmux_socket: TmuxSocket.optional() }),
  body: z.object({
    backend: Backend,
    tmux_socket: TmuxSocket.optional(),
    name: Name.optional(),
    circle: Name.optional(),
  }),
  returns: LinkResult,
  fails: ["unknown_pane", "peers_full", "already_linked", "reserved_name"],
});
export type LinkPane = z.output<typeof linkPane.body>;

export const linkPeer = contract({
  id: "peers.link",
  method: "POST",
  path: "/peers/:id/link",
  summary: "Link a peer to the pane on its record",
  ...onePeer,
  tunnel: "admin",
  body: z.object({}),
  returns: LinkResult,
  fails: [
    ...PEER_FAILS,
    "peer_retired",
    "other_host",
    "missing_pane",
    "unknown_pane",
    "already_linked",
  ],
});

export const RehookResult = z.object({
  ok: z.boolean(),
  acted: z.boolean(),
  peer_id: z.string(),
  transport: Peer.shape.transport,
  /** True if a live transport reaches the peer now. */
  healthy: z.boolean(),
  /** Action of `apply`, done or planned. */
  would_do: nullableString,
  reason: nullableString,
});
export type RehookResult = z.output<typeof RehookResult>;

export const rehookPeer = contract({
  id: "peers.rehook",
  method: "POST",
  path: "/peers/:id/rehook",
  summary: "Recover the transport of a peer without disturbing it; without `apply` only report",
  ...onePeer,
  tunnel: "admin",
  body: z.object({ apply: z.boolean().default(false) }),
  returns: RehookResult,
  fails: [...PANE_FAILS],
});

/** Why pruning keeps an offline peer. */
export const KeptReason = z.enum([
  "open_asks",
  "queued_messages",
  "running",
  "restart",
  "jobs",
  "schedules",
  "surface",
  "human",
]);
export type KeptReason = z.output<typeof KeptReason>;

const PrunedPeer = z.object({ peer_id: z.string(), name: z.string(), circle: z.string() });

export const prunePeers = contract({
  id: "peers.prune",
  method: "POST",
  path: "/peers/prune",
  summary: "Close the offline peers that nothing waits for; `dry_run` only reports them",
  access: "caller",
  tunnel: "never",
  body: z.object({ dry_run: z.boolean().default(false) }),
  returns: z.object({
    dry_run: z.boolean(),
    closed: z.array(PrunedPeer),
    kept: z.array(PrunedPeer.extend({ reason: KeptReason })),
  }),
  fails: [],
});
export type PruneResult = z.output<typeof prunePeers.returns>;

export const killPeer = contract({
  id: "peers.kill",
  method: "POST",
  path: "/peers/:id/kill",
  summary: "End the process of a peer, if it is proved to be the peer's, and retire the peer",
  ...onePeer,
  tunnel: "admin",
  body: z.object({}),
  returns: z.object({
    ok: z.literal(true),
    peer_id: z.string(),
    agent_pid: z.number().int(),
    /** The signal that ended the process. */
    signal: z.enum(["SIGTERM", "SIGKILL"]),
  }),
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere", "kill_refused"],
});
export type KillResult = z.output<typeof killPeer.returns>;

export const assumeRole = contract({
  id: "peers.role",
  method: "POST",
  path: "/peers/:id/role",
  summary: "Set the role of a peer; only `force` displaces a live orchestrator of its circle",
  ...onePeer,
  tunnel: "never",
  body: z.object({
    role: Role.exclude(["human"]),
    force: z.boolean().default(false),
  }),
  actor: { field: "params.id" },
  returns: Peer,
  fails: [...PEER_FAILS, "peer_retired", "orchestrator_present", "role_fixed"],
});

export const Contradiction = z.object({
  code: z.enum([
    "ONLINE_BUT_NO_TRANSPORT",
    "PANE_MISSING",
    "AGENT_PID_DEAD",
    "PANE_OWNER_MISMATCH",
    "STALE_PENDING_ASK",
    "TURN_STUCK",
    "RETIRED_BUT_LIVE",
    "SESSION_MISMATCH",
    "UNPROVED_DELIVERY",
  ]),
  severity: z.enum(["error", "warning"]),
  detail: z.string(),
});
export type Contradiction = z.output<typeof Contradiction>;

/** One piece of evidence, with its source and age. */
export const Check = z.object({
  name: z.string(),
  /** Null if the evidence is neither good nor bad. */
  ok: z.boolean().nullable(),
  source: nullableString,
  age_seconds: z.number().nullable(),
  detail: z.string(),
});
export type Check = z.output<typeof Check>;

export const diagnosePeer = contract({
  id: "peers.doctor",
  method: "GET",
  path: "/peers/:id/doctor",
  summary: "All evidence about a peer with its age, and its contradictions; changes nothing",
  ...onePeer,
  tunnel: "open",
  returns: z.object({
    peer_id: z.string(),
    checks: z.array(Check),
    contradictions: z.array(Contradiction),
  }),
  fails: ["unknown_peer", "ambiguous_peer", "peer_elsewhere"],
});
export type Report = z.output<typeof diagnosePeer.returns>;

export const PaneScreen = z.object({
  peer_id: z.string(),
  pane_id: z.string(),
  width: z.number().int(),
  height: z.number().int(),
  /** Column and row of the cursor, from 0; null if the program hides it. */
  cursor: z.object({ x: z.number().int(), y: z.number().int() }).nullable(),
  /** True if tmux itself shows something there, such as its copy mode. */
  in_mode: z.boolean(),
  /**
   * The rows from top to bottom. Colours are escape sequences (SGR), which hold until the next one,
   * also in later rows.
   */
  rows: z.array(z.string()),
});
export type PaneScreen = z.output<typeof PaneScreen>;

export const showPane = contract({
  id: "peers.pane",
  method: "GET",
  path: "/peers/:id/pane",
  summary: "The screen of a peer's pane, if the pane is proved to be the peer's",
  ...onePeer,
  tunnel: "admin",
  returns: PaneScreen,
  fails: [...PANE_FAILS],
});
