/** Schemas of peers: the record, registrations, provenance and restarts. Safe in a browser. */

import * as z from "zod";
import { Instant, Name, Sender, shortText } from "kit/core/schema.ts";
import { ProofRecord } from "protocol/proofs/contract.ts";
import { Backend, Transport, TurnState } from "protocol/agents/contract.ts";
import { lookalikesOf, skeletonOf } from "protocol/peers/lookalikes.ts";
import { peerMachine } from "protocol/peers/states.ts";

export const Role = z.enum(["agent", "orchestrator", "service", "human"]);
export type Role = z.infer<typeof Role>;

/** Boundary of a circle of peers in tmux: a session, a window, or the machine. */
export const CircleBoundary = z.enum(["session", "window", "machine"]);
export type CircleBoundary = z.output<typeof CircleBoundary>;

/** Roles that are found by name from every circle. */
export const ROLES_OF_ALL_CIRCLES: readonly Role[] = ["service", "orchestrator", "human"];

/** Other names of the human, which surfaces use (contract 2). */
export const ALIASES: readonly string[] = ["dashboard", "telegram"];

/** The names under which the daemon itself speaks, or seems to. */
const NAMES_OF_DAEMON: readonly string[] = ["mesh", "daemon", "system"];
/** Names that a reader takes for the person's (contract 11). */
const NAMES_OF_PERSONS: readonly string[] = ["human", "user", "you"];

const looksLikeDaemonOrAlias = lookalikesOf([...NAMES_OF_DAEMON, ...ALIASES]);
const looksLikeDaemonOrPerson = lookalikesOf([...NAMES_OF_DAEMON, ...NAMES_OF_PERSONS]);
const looksLikePerson = lookalikesOf(NAMES_OF_PERSONS);

/** True if the human may not have a name: it is the daemon's, an alias or `mcp-…`, or looks so. */
export function isReservedForHuman(name: string): boolean {
  return looksLikeDaemonOrAlias(name) || isAppName(name);
}

/** True if a surface of the human may not have a name. Its messages as the human are marked. */
export function isReservedForSurface(name: string): boolean {
  return looksLikeDaemonOrPerson(name);
}

/** True if no peer may have a name, whatever the human's name is (contract 11). */
export function isReserved(name: string): boolean {
  return isReservedForHuman(name) || looksLikePerson(name);
}

/** True if a name begins with `mcp-`, as those of the relay's apps do. */
export function isAppName(name: string): boolean {
  return skeletonOf(name).startsWith("mcp-");
}

/**
 * The author of a message. `unverified`: nothing proves that the sender sent it (contract 11), or
 * its name looks like the human's or a reserved one (contract 2).
 */
export const AuthorKind = z.enum(["peer", "human", "unverified"]);
export type AuthorKind = z.infer<typeof AuthorKind>;

export const PeerStatus = z.enum(peerMachine.states);

export const Source = z.enum(["hook", "backend-app-server", "unknown"]);
const Initiator = z.enum(["user", "agent", "system"]);
const InboundStatus = z.enum(["ok", "offline", "no_transport", "pane_unsafe", "degraded"]);

/** Maximum number of peers that are online or busy at one time. */
export const LIVE_PEERS_MAX = 20_000;
/** Maximum number of peers with a record, offline ones included. Pruning closes offline records. */
export const PEER_RECORDS_MAX = 50_000;

/** The maximum number of tags that a peer has. */
export const TAGS_MAX = 16;

/** A word by which several peers are addressed at once, as `@backend`. */
export const Tag = z.string().regex(
  /^[a-z0-9][a-z0-9_-]{0,31}$/,
  "A tag is 1 to 32 lowercase letters, digits, underscores or hyphens, beginning with neither " +
    "of the last two",
);
export type Tag = z.output<typeof Tag>;
export const Tags = z.array(Tag).max(TAGS_MAX);

/**
 * The things that an agent waits for. `permission`, `question` and `trust` (of its folder or its
 * hooks) are dialogs in its terminal, as is a `dialog` of unknown kind; `login` may be one. A
 * `limit` is that of its user's account.
 */
export const WaitKind = z.enum(["permission", "question", "trust", "login", "limit", "dialog"]);
export type WaitKind = z.output<typeof WaitKind>;

/** A wait of an agent: the thing that it needs before it goes on, by the latest evidence. */
export const Wait = z.object({
  kind: WaitKind,
  since: Instant,
  /** The source, such as `hook`, `session registry`, `screen` or `inbox`. */
  source: z.string(),
  /** The tool that needs permission, or the kind of limit. */
  detail: z.string().nullable(),
  /** The end of a limit, if it is known. */
  resets_at: Instant.nullable(),
}).meta({ id: "Wait" });
export type Wait = z.output<typeof Wait>;

/** A loop of an agent: calls that repeat in its turn, or an exchange without anything new. */
export const Looping = z.object({
  kind: z.enum(["calls", "exchange"]),
  /** The name of the other peer of an exchange. */
  with: z.string().nullable(),
  /** The number of calls that ran, or of messages that said nothing new. */
  times: z.number().int(),
  since: Instant,
}).meta({ id: "Looping" });

/** A wait as an agent's program reports it. */
export const ReportedWait = z.object({
  kind: WaitKind,
  detail: shortText(100).optional(),
  resets_at: Instant.optional(),
});
export type ReportedWait = z.output<typeof ReportedWait>;

/**
 * The effect of an ask to a sleeping agent: none, a question to the human, or a wake. Whatever the
 * policy, the human is asked about senders of other circles and machines, and unverified ones.
 */
export const WakePolicy = z.enum(["never", "ask", "always"]);
export type WakePolicy = z.output<typeof WakePolicy>;

/**
 * The sleep of an agent. `asleep`: its program has ended, and its session can be resumed. `asking`:
 * the human is asked whether to wake it. `waking`: it is being started. `awake`: it runs because of
 * a message, and goes back to sleep. `not_resumable`: it has ended, and nothing can wake it.
 */
export const Wake = z.object({
  state: z.enum(["asleep", "asking", "waking", "awake", "not_resumable"]),
  /** The policy in force for this peer. */
  policy: WakePolicy,
  /** The code of the reason why it cannot be woken, or was not woken at last; null for none. */
  reason: z.string().nullable(),
  /** The reason as a sentence. */
  detail: z.string().nullable(),
}).meta({ id: "Wake" });
export type Wake = z.output<typeof Wake>;

const METADATA_BYTES_MAX = 65_536;
const METADATA_DEPTH_MAX = 64;
/** Free fields of a runtime; bounded, as every record contains them. */
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
  /** The terminal that its pane is in; null without a pane. */
  terminal: z.enum(["tmux", "kitty"]).nullable(),
  /** The path of the tmux server's socket; for kitty, `kitty:` and the path of its socket. */
  tmux_socket: nullableString,
  pane_id: nullableString,
  backend: Backend.nullable(),
  model: nullableString,
  circle: z.string(),
  role: Role,
  status: PeerStatus,
  turn_state: TurnState.nullable(),
  /** The thing that it needs before it goes on; null if nothing shows that it waits. */
  waits_for: Wait.nullable(),
  /** A loop in which it is: absent for none. */
  looping: Looping.optional(),
  /** The outcomes of its checked answers: absent for none. A record of facts, and no score. */
  proofs: ProofRecord.optional(),
  last_seen: Instant.nullable(),
  /** When it went offline or retired, and the code of the reason; null for a live peer. */
  offline_since: Instant.nullable(),
  offline_reason: nullableString,
  description: nullableString,
  tags: z.array(z.string()),
  /** True if it is reminded of open asks as it stops; null follows the setting asks.reminders. */
  reminders: z.boolean().nullable(),
  /** Maximum number of waiting messages; null follows the setting daemon.queue.max_per_peer. */
  queue_max: z.number().int().nullable(),
  /**
   * Maximum number of messages a minute from one sender, 0 for any number; null follows the setting
   * daemon.limits.pair_per_minute.
   */
  pair_per_minute: z.number().int().nullable(),
  /** True if its hooks hand it messages, for example in the context of a prompt. */
  hook_messages: z.boolean(),
  /** The effect of asks while it sleeps; null follows the setting daemon.wake. */
  wake_policy: WakePolicy.nullable(),
  /** Its sleep; null for a peer that is no agent, and for one that runs by itself. */
  wake: Wake.nullable(),
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
  /** The reason of `degraded` or `pane_unsafe`: codes, or how the transport failed a selftest. */
  inbound_reason: z.string().optional(),
  last_delivery_at: Instant.nullable(),
  last_delivery_failure_at: Instant.nullable(),
  pending_ask_count: z.number().int(),
  oldest_pending_age_seconds: z.number().nullable(),
  registered_at: Instant,
}).meta({ id: "Peer" });
export type Peer = z.output<typeof Peer>;

/** How a peer was created (specification 2). A new provenance replaces the old one entirely. */
export const Provenance = z.object({
  source: Source.optional(),
  initiator: Initiator.optional(),
  parent_runtime_id: shortText(1000, 1).optional(),
  ephemeral: z.boolean().optional(),
  addressable: z.boolean().optional(),
  addressable_reason: shortText(1000).optional(),
});
export type Provenance = z.output<typeof Provenance>;

/** The daemon also checks the owner of the socket (`daemon/host/trusted_socket.ts`). */
export const TmuxSocket = shortText(255, 1).regex(
  /^(kitty:)?\/\P{Cc}*$/u,
  'The absolute path of a tmux socket, or "kitty:" and the path of a kitty socket',
);

export const PaneId = z.string().regex(
  /^(%\d+|[1-9]\d{0,8})$/,
  "A tmux pane id, such as %3, or a kitty window id, such as 3",
);

/** A route about one peer, which an id or a name identifies (contract 1, "A peer argument"). */
export const onePeer = {
  access: "caller",
  params: z.object({ id: z.string() }),
  query: z.object({
    circle: Name.optional().describe("Look up a name in this circle only"),
    from_peer: Sender.optional().describe(
      "The caller: a name is looked up in its circle first, and then everywhere",
    ),
  }),
} as const;

/** The refusals of a request about one peer, which has to run on this machine. */
export const PEER_FAILS = ["unknown_peer", "ambiguous_peer", "peer_elsewhere"] as const;
/** The refusals of a request that needs the peer's pane. */
export const PANE_FAILS = [
  ...PEER_FAILS,
  "peer_retired",
  "other_host",
  "missing_pane",
  "pane_unverified",
] as const;

export const ProcessId = z.number().int().positive();
/** Null means absent, so that a record can be sent as it is. */
const OptionalProcessId = ProcessId.nullable().transform((given) => given ?? undefined).optional();

export const Registration = z.object({
  name: Name.optional(),
  peer_id: z.string().optional(),
  path: shortText(4096, 1),
  machine: shortText(255).optional(),
  tmux_session: shortText(255).optional(),
  tmux_socket: TmuxSocket.optional(),
  pane_id: PaneId.optional(),
  backend: Backend,
  model: shortText(255).optional(),
  circle: Name.optional(),
  role: Role.optional(),
  turn_state: TurnState.optional(),
  agent_pid: OptionalProcessId,
  parent_pid: OptionalProcessId,
  runtime_session_id: shortText(255, 1).optional(),
  birth_certificate: z.string().optional(),
  metadata: GivenMetadata.optional(),
  provenance: Provenance.optional(),
  tags: Tags.optional(),
});
export type Registration = z.output<typeof Registration>;

export const Registered = z.object({
  ok: z.literal(true),
  peer_id: z.string(),
  display_name: z.string(),
  circle: z.string(),
  role: Role,
  mesh_session_id: z.string(),
  /** For a new peer, and for a peer that proved its identity; null otherwise. */
  birth_certificate: z.string().nullable(),
});

/** JSON of bounded size and depth. */
function isSmall(metadata: Record<string, unknown>): boolean {
  return !isDeeper(metadata, METADATA_DEPTH_MAX) &&
    JSON.stringify(metadata).length <= METADATA_BYTES_MAX;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** The fields of a peer by which it is found and messages are delivered. */
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
  queue_max: z.number().nullable(),
  pair_per_minute: z.number().nullable(),
  hook_messages: z.number(),
  /** The machine on which the peer runs; null for this machine. */
  daemon_id: z.string().nullable(),
});
export type Address = z.output<typeof Address>;

/** True if a peer is the human of this machine, whose messages go to the inbox. */
export function isLocalHuman({ role, daemon_id }: Pick<Address, "role" | "daemon_id">): boolean {
  return role === "human" && daemon_id === null;
}

export const RestartStage = z.enum(["preflight", "quiesce", "stop", "launch", "register", "seed"]);
export type RestartStage = z.output<typeof RestartStage>;

const ResumeMode = z.enum(["resumed", "fresh"]);
/** The arguments of a command; possible secrets are `[redacted]`. */
const ShownCommand = z.array(z.string()).nullable();

/** A restart and its outcome (contract 3). */
export const Restart = z.object({
  restart_id: z.string(),
  outcome: z.enum(["restarted", "would_restart", "failed", "cancelled", "in_progress"]),
  resume_mode: ResumeMode,
  would_run: ShownCommand,
  failed: z.object({ stage: RestartStage, reason: z.string(), detail: z.string() }).optional(),
  stages: z.array(z.object({ stage: RestartStage, at: Instant })),
  started_at: Instant,
  finished_at: Instant.nullable(),
}).meta({ id: "Restart" });
export type Restart = z.output<typeof Restart>;

/** Ability to restart, as part of a peer's record (specification 2). */
export const RestartBlock = z.object({
  restartable: z.boolean(),
  /** Why it cannot be restarted; null if it can. */
  reason: z.string().nullable(),
  resume_mode: ResumeMode,
  would_run: ShownCommand,
  last: Restart.nullable(),
});
export type RestartBlock = z.output<typeof RestartBlock>;
