/** Subagents in the record of their parent, and the limits of their records. Safe in a browser. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { peerMachine } from "protocol/peers/states.ts";

/** Maximum number of children in a peer's record; the newest come first. */
export const CHILDREN_SHOWN_MAX = 20;

/** A subagent that a peer started, or started before it ended. */
export const Child = z.object({
  peer_id: z.string(),
  name: z.string(),
  /** Its kind, such as `explore`; null if it reported none. */
  type: z.string().nullable(),
  status: z.enum(peerMachine.states),
  started_at: Instant,
  ended_at: Instant.nullable(),
}).meta({ id: "Child" });

/** The children of a peer, in its record. */
export const Children = z.object({
  children: z.array(Child),
  /** Number of children that have a record, shown or not. */
  children_count: z.number().int(),
});
export type Children = z.output<typeof Children>;

/** Maximum number of running subagents of one peer with records. Others are not recorded. */
export const RUNNING_MAX = 50;
/** Maximum number of ended subagents of one peer that are kept, and the time they are kept. */
export const ENDED_MAX = 20;
export const ENDED_MS_MAX = 86_400_000;
/**
 * Time after which a silent subagent no longer counts as running. Its end may have been lost, and
 * nothing reports while a long command runs.
 */
export const SILENT_MS_MAX = 6 * 3_600_000;
