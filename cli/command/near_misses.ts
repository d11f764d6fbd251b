/** Adds to a refusal of an unknown name or id the nearest one that exists. */

import { ApiError } from "kit/http/client.ts";
import type { CommandContext } from "./command.ts";
import { nearest } from "./near_words.ts";
import { listPeers } from "protocol/generated/endpoints.ts";

/** The fields of refusals that hold the caller's text. */
const TYPED_FIELDS: Readonly<Record<string, string>> = { unknown_peer: "peer" };

/**
 * Returns the error. For an unknown peer, adds a hint with the name that was probably meant, if the
 * daemon answers the request for the names.
 */
export async function withNearMisses(error: unknown, context: CommandContext): Promise<unknown> {
  if (!(error instanceof ApiError)) return error;
  const typed = error.problem[TYPED_FIELDS[error.problem.error] ?? ""];
  if (typeof typed !== "string") return error;
  const names = await peerNames(context.call).catch(() => []);
  const meant = nearest(typed, names);
  if (meant === undefined || meant === typed) return error;
  const { hint } = error.problem;
  const question = `did you mean "${meant}"?`;
  const withQuestion = hint === undefined || hint === "" ? question : `${question} Or ${hint}`;
  return new ApiError(error.status, { ...error.problem, hint: withQuestion, did_you_mean: meant });
}

async function peerNames(call: CommandContext["call"]): Promise<string[]> {
  const { peers } = await call(listPeers, { query: { subagents: "false" } });
  return peers.flatMap(({ status, name }) => status === "retired" ? [] : [name]);
}
