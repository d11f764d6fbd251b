/** Finds the jobs that a peer executes. */

import type { JobInList } from "protocol/wire.ts";

/** The states of a job that has an executor. */
export const EXECUTING = [
  "dispatching",
  "delivered",
  "running",
  "awaiting_input",
  "blocked",
] as const;

/** For a job in one of the states above. */
export function isExecutedBy(peer_id: string, { runner, assigned_peer_id }: JobInList): boolean {
  return (runner?.attempts.at(-1)?.executor_peer_id ?? assigned_peer_id) === peer_id;
}
