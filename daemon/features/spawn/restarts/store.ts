/** SQL for restarts: each function is one statement and takes no decision. */

import * as z from "zod";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Backend } from "protocol/agents/contract.ts";
import { restartMachine } from "../states.ts";
import { Restart } from "protocol/peers/record.ts";

const nullableString = z.string().nullable();
const nullableInteger = z.number().int().nullable();

/** A restart as stored: its result, and the fields with which the next start resolves it. */
export const StoredRestart = z.object({
  ...Restart.omit({ outcome: true }).shape,
  peer_id: z.string(),
  state: z.enum(restartMachine.states),
  failed: Restart.shape.failed.unwrap().nullable(),
  tmux_socket: nullableString,
  pane_id: nullableString,
  /** The replaced process and the new process. */
  old_pid: nullableInteger,
  old_started: nullableString,
  new_pid: nullableInteger,
  new_started: nullableString,
  /** The message that waits for the restarted peer; null once it was sent or dropped. */
  seed: nullableString,
  seed_from: nullableString,
  seed_human: z.boolean(),
  seed_unverified: z.boolean(),
  /** The files that the message carries. */
  seed_attachments: z.array(z.string()),
  /** If the restart changes the peer's agent: the earlier and the new agent. */
  from_backend: Backend.nullable(),
  from_session: nullableString,
  to_backend: Backend.nullable(),
});
export type StoredRestart = z.output<typeof StoredRestart>;

const table = tableOf("restarts", StoredRestart, "restart_id");
export const { insert, update, get } = table;

/** The latest restart of a peer. */
export function latest(db: Reader, peer_id: string): StoredRestart | undefined {
  return table.all(db, "where peer_id = :peer_id order by seq desc limit 1", { peer_id })[0];
}

/** Restarts in progress. */
export function open(db: Reader): StoredRestart[] {
  return table.all(db, "where finished_at is null order by seq");
}

/** The restart in progress of the peer that has, or had until now, a session. */
export function openWithSession(
  db: Reader,
  { backend, session_id }: { readonly backend: Backend; readonly session_id: string },
): StoredRestart | undefined {
  return open(db).find((restart) =>
    restart.from_session === session_id && restart.from_backend === backend
  );
}

/** The restart of a peer that is in progress. */
export function openOf(db: Reader, peer_id: string): StoredRestart | undefined {
  return open(db).find((restart) => restart.peer_id === peer_id);
}
