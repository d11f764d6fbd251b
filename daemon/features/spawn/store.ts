/** SQL for spawns: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, rowOf, toValues, type Tx } from "kit/data/sqlite.ts";
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

const Row = rowOf(Spawn);
const columns = Object.keys(Spawn.shape);

export function insert(tx: Tx, spawn: Spawn): void {
  tx.run(
    `insert into spawns ${toValues(columns)}`,
    z.encode(Row, spawn),
  );
}

export function update(
  tx: Tx,
  { spawn_id, registration_state, peer_id, seed, seed_state, settled_at }: Spawn,
): void {
  tx.run(
    `update spawns set registration_state = :registration_state, peer_id = :peer_id, seed = :seed,
       seed_state = :seed_state, settled_at = :settled_at
     where spawn_id = :spawn_id`,
    { spawn_id, registration_state, peer_id, seed, seed_state, settled_at },
  );
}

export function get(db: Reader, spawn_id: string): Spawn | undefined {
  return db.get(Row, "select * from spawns where spawn_id = :spawn_id", { spawn_id });
}

/** Spawns whose registration is still expected. */
export function open(db: Reader): Spawn[] {
  return db.all(Row, "select * from spawns where settled_at is null order by created_at");
}

/** The latest spawn of a peer. */
export function ofPeer(db: Reader, peer_id: string): Spawn | undefined {
  return db.get(
    Row,
    "select * from spawns where peer_id = :peer_id order by created_at desc limit 1",
    { peer_id },
  );
}
