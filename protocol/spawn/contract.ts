/** The routes of spawning, as data: its settings, a spawn, a fork. */

import * as z from "zod";
import { byId, contract } from "protocol/contract.ts";
import { Name, Sender, Text } from "kit/core/schema.ts";
import { CircleBoundary, PaneId, PEER_FAILS, TmuxSocket, Wait } from "protocol/peers/record.ts";
import { leaseVariable, readLeaseWords } from "protocol/holdings/lease_words.ts";
import { LeaseWords } from "protocol/holdings/leases.ts";
import { Backend } from "protocol/agents/contract.ts";

/** Maximum number of arguments that a person adds to a command, and the length of one. */
const ARGUMENTS_MAX = 64;
const ARGUMENT_CHARS_MAX = 32_768;
const Argv = z.array(z.string().min(1)).min(1);
/**
 * The value of an environment variable. YAML may read it as a number or a boolean; it becomes text.
 */
const Value = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const Variable = z.string().regex(
  /^[A-Za-z_]\w*$/,
  "A variable name: letters, digits and _, not beginning with a digit",
);
export const EnvironmentVariables = z.record(Variable, Value);

/** Maximum leases of one start. */
const SPAWN_LEASES_MAX = 20;
/** Leases whose names differ only in letters that no variable has would hide one another. */
const SpawnLeases = z.array(LeaseWords).max(SPAWN_LEASES_MAX).refine(
  (leases) => {
    const different = new Set(leases);
    const variables = [...different].map((words) => leaseVariable(readLeaseWords(words)));
    return new Set(variables).size === different.size;
  },
  "two leases have the same variable; change a name, such as db-1 and db_1",
);

/** The command of each backend. No other command is ever started. */
export const Commands = z.partialRecord(Backend, Argv);
export type Commands = z.output<typeof Commands>;

export const Profile = z.object({
  backend: Backend.optional(),
  args: z.array(z.string()).default([]),
  env: EnvironmentVariables.default({}),
});
export type Profile = z.output<typeof Profile>;
export const Profiles = z.record(Name, Profile);

const ShownProfile = z.object({
  backend: Backend.optional(),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
});

export const spawnConfig = contract({
  id: "spawn.config",
  method: "GET",
  path: "/spawn/config",
  summary: "The configured commands, profiles and folders, and the circle boundary",
  access: "caller",
  tunnel: "open",
  returns: z.object({
    enabled: z.boolean(),
    commands: Commands,
    /** The values of the profiles' environment variables are hidden. */
    profiles: z.record(z.string(), ShownProfile),
    allowed_paths: z.array(z.string()),
    circle_boundary: CircleBoundary,
  }),
});

/** Maximum number of folders in one answer. */
export const FOLDERS_MAX = 50;

export const listFolders = contract({
  id: "spawn.folders",
  method: "GET",
  path: "/spawn/folders",
  summary: "The folders whose path begins with `prefix`, within spawn.allowed_paths",
  access: "caller",
  tunnel: "admin",
  query: z.object({ prefix: z.string().max(4096).default("") }),
  returns: z.object({
    /** Paths in the form of `prefix`; hidden folders last. */
    folders: z.array(z.string()),
    /** True if there are more folders than the answer has. */
    truncated: z.boolean(),
  }),
  fails: ["path_not_allowed"],
});
export type Folders = z.output<typeof listFolders.returns>;

/** The refusals of a start because of the configuration. */
export const START_FAILS = [
  "spawn_disabled",
  "unsupported_backend",
  "unknown_profile",
  "path_not_allowed",
  "source_pane_required",
  "budget_spent",
  "policy_denied",
] as const;

export const Spawned = z.object({
  ok: z.literal(true),
  spawn_id: z.string(),
  pane_id: z.string(),
  tmux_socket: z.string(),
  tmux_session: z.string(),
  display_name: z.string(),
  registration_state: z.enum(["awaiting", "registered", "timed_out"]),
  /**
   * The state of the request's message; null if there is none, or once it is accepted for delivery.
   */
  seed_state: z.enum(["awaiting_registration", "undeliverable"]).nullable(),
  warnings: z.array(z.string()),
});
export type Spawned = z.output<typeof Spawned>;

/** A spawn as it is now. */
export const SpawnState = Spawned.omit({ ok: true, warnings: true }).extend({
  backend: Backend,
  path: z.string(),
  peer_id: z.string().nullable(),
  /** The wait of the agent before it registers; a registered agent's record has its own. */
  waits_for: Wait.nullable(),
});
export type SpawnState = z.output<typeof SpawnState>;

export const getSpawn = contract({
  id: "spawn.get",
  method: "GET",
  path: "/spawns/:id",
  summary: "The state of a spawn, and what its agent waits for before it registers",
  access: "caller",
  tunnel: "admin",
  params: byId,
  returns: SpawnState,
  fails: ["unknown_spawn"],
});

export const spawnPeer = contract({
  id: "spawn.spawn",
  method: "POST",
  path: "/spawn",
  summary: "Start an agent in a tmux pane; it receives the message once it registers",
  access: "caller",
  tunnel: "admin",
  idempotent: true,
  query: z.object({ tmux_socket: TmuxSocket.optional() }),
  body: z.object({
    path: z.string().min(1).max(4096),
    backend: Backend,
    profile: Name.optional(),
    args: z.array(z.string().min(1).max(ARGUMENT_CHARS_MAX)).max(ARGUMENTS_MAX).optional()
      .describe(
        "Further arguments of the agent's command; only a person may add any, others name a profile",
      ),
    circle: Name.optional(),
    role: z.enum(["agent", "orchestrator"]).optional(),
    name: Name.optional(),
    message: Text.optional(),
    from_peer: Sender.optional(),
    source_pane: PaneId.optional(),
    leases: SpawnLeases.optional().describe(
      "What to lease for the agent until it ends: it has each in a variable MESH_LEASE_…",
    ),
  }),
  verb: "spawn",
  actor: { field: "body.from_peer" },
  returns: Spawned,
  fails: [
    ...START_FAILS,
    "ambiguous_peer",
    "reserved_name",
    "arguments_not_proven",
    "spawn_failed",
    "lease_held",
    "no_free_port",
    "too_many_leases",
  ],
});
export type SpawnRequest = z.output<typeof spawnPeer.body>;

export const forkPeer = contract({
  id: "spawn.fork",
  method: "POST",
  path: "/peers/:id/fork-backend",
  summary: "Start a sibling of a peer on another backend, in its folder, without its conversation",
  access: "caller",
  tunnel: "admin",
  params: byId,
  body: z.object({
    backend: Backend,
    profile: Name.optional(),
    circle: Name.optional(),
    from_peer: Sender.optional(),
  }),
  verb: "spawn",
  actor: { field: "body.from_peer" },
  returns: Spawned.extend({ source_peer_id: z.string() }),
  fails: [...PEER_FAILS, "peer_retired", "same_backend", ...START_FAILS, "spawn_failed"],
});
