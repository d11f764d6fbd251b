/** SQL for spawns: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Backend } from "protocol/agents/contract.ts";
import { Spawned } from "protocol/spawn/contract.ts";

const nullableString = z.string().nullable();

/** A spawn as stored. */
export const Spawn = z.object({
  spawn_id: z.string(),
  backend: Backend,
  profile: nullableString,
  path: z.string(),
  circle: z.string(),
  role: z.enum(["agent", "orchestrator"]),
  /** The requested name; null for the default name. */
  name: nullableString,
  tmux_socket: z.string(),
  tmux_session: z.string(),
  pane_id: z.string(),
  /** The first process of the pane; null in rows of versions that did not store it. */
  pane_pid: z.number().int().nullable(),
  registration_state: Spawned.shape.registration_state,
  peer_id: nullableString,
  /** The message that waits for the registration; null once it was sent or dropped. */
  seed: nullableString,
  seed_from: nullableString,
  seed_human: z.boolean(),
  seed_unverified: z.boolean(),
  seed_state: Spawned.shape.seed_state,
  warnings: z.array(z.string()),
  /** The agent's id of the session that it resumes, and the peer that had it. */
  resumed_session: nullableString,
  resumed_peer_id: nullableString,
  created_at: Instant,
  /** The time at which the agent registered, or its registration timed out. */
  settled_at: Instant.nullable(),
});
export type Spawn = z.output<typeof Spawn>;

const table = tableOf("spawns", Spawn, "spawn_id");
export const { insert, update, get } = table;

/** Spawns whose registration is still expected. */
export function open(db: Reader): Spawn[] {
  return table.all(db, "where settled_at is null order by created_at");
}

/** The latest spawn of a peer. */
export function ofPeer(db: Reader, peer_id: string): Spawn | undefined {
  return table.all(db, "where peer_id = :peer_id order by created_at desc limit 1", { peer_id })[0];
}
