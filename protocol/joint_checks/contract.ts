/** The route of joint checks: work trees of one repository, checked apart and together. */

import * as z from "zod";
import { NO_ACTOR } from "kit/http/contract.ts";
import { Instant, Sender } from "kit/core/schema.ts";
import { contract, nullableString } from "protocol/contract.ts";

/** Results of a check on a work tree: passed, failed, or unknown. */
export const CHECK_RESULTS = ["passed", "failed", "unknown"] as const;
export type CheckResult = typeof CHECK_RESULTS[number];

/** Results for two work trees: `conflict` if git cannot merge them, `apart` if none concerns the other. */
export const PAIR_RESULTS = ["passed", "failed", "unknown", "conflict", "apart"] as const;
export type PairResult = typeof PAIR_RESULTS[number];

const WorkTree = z.object({
  peer_id: z.string(),
  name: z.string(),
  /** The root of the work tree. */
  root: z.string(),
  branch: nullableString,
  /** The number of files that differ from the branch point. */
  files: z.number().int(),
  result: z.enum(CHECK_RESULTS),
  /** Reason of an unknown result, or the end of the output of a failed check. */
  detail: nullableString,
  /** The reason for its place in the order of landing. */
  reason: z.string(),
}).meta({ id: "JointWorkTree" });
export type JointWorkTree = z.output<typeof WorkTree>;

const Pair = z.object({
  first_peer_id: z.string(),
  second_peer_id: z.string(),
  result: z.enum(PAIR_RESULTS),
  /** The files that both change, or by which one concerns the other. */
  files: z.array(z.string()),
  /** The end of the output of a failed check. */
  detail: nullableString,
  /** The ask to the authors, while the report is open. */
  correlation_id: nullableString,
}).meta({ id: "JointPair" });
export type JointPair = z.output<typeof Pair>;

const JointRepository = z.object({
  /** The folder that all work trees of the repository share. */
  repository: z.string(),
  checked_at: Instant.nullable(),
  /** In the suggested order of landing. */
  work_trees: z.array(WorkTree),
  pairs: z.array(Pair),
}).meta({ id: "JointRepository" });
export type JointRepository = z.output<typeof JointRepository>;

export const listJointChecks = contract({
  id: "joint_checks.list",
  method: "GET",
  path: "/joint-checks",
  summary: "Work trees of one repository in the suggested order of landing, with the results of " +
    "the check on each, and on pairs that touch or import each other",
  access: "caller",
  tunnel: "admin",
  query: z.object({ from_peer: Sender.optional() }),
  actor: NO_ACTOR,
  returns: z.object({
    /** The check that runs; null while `joint_checks.check` is not set. */
    check: nullableString,
    /** True while work trees are joined and checked. */
    running: z.boolean(),
    repositories: z.array(JointRepository),
  }),
  fails: ["human_not_proven"],
});
