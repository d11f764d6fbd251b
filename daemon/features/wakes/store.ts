/** SQL for wakes: each function is one statement and takes no decision. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { type Reader, tableOf } from "kit/data/sqlite.ts";
import { Backend } from "protocol/agents/contract.ts";
import { wakeMachine } from "./states.ts";

const nullableString = z.string().nullable();

/** A wake as stored. */
export const StoredWake = z.object({
  wake_id: z.string(),
  peer_id: z.string(),
  backend: Backend,
  /** The agent's own id of the session that is resumed. */
  session_id: z.string(),
  state: z.enum(wakeMachine.states),
  /** `policy`: no question is needed. `answer`: the human's. `person`: a person started it. */
  allowed_by: z.enum(["policy", "answer", "person"]).nullable(),
  /** The ask that caused it; null if the agent ended with open asks, or for a person's wake. */
  cause: nullableString,
  /** The ask that puts it to the human. */
  question_id: nullableString,
  spawn_id: nullableString,
  /** The code of the reason of a failure or a refusal, and the reason as a sentence. */
  reason: nullableString,
  detail: nullableString,
  created_at: Instant,
  changed_at: Instant,
  ended_at: Instant.nullable(),
});
export type StoredWake = z.output<typeof StoredWake>;

const table = tableOf("wakes", StoredWake, "wake_id");
export const { insert, update, get } = table;

/** Wakes in progress, the awake agents among them. */
export function open(db: Reader): StoredWake[] {
  return table.all(db, "where ended_at is null order by seq");
}

/** The latest wake of a peer. */
export function latestOf(db: Reader, peer_id: string): StoredWake | undefined {
  return table.all(db, "where peer_id = :peer_id order by seq desc limit 1", { peer_id })[0];
}

/** The wake that a question to the human is about. */
export function ofQuestion(db: Reader, question_id: string): StoredWake | undefined {
  return table.all(db, "where question_id = :question_id limit 1", { question_id })[0];
}
