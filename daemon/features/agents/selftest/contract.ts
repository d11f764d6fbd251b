/** What `mesh selftest` found of each agent's transports: written by it, read by the daemon. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { Backend, TransportName } from "../contract.ts";

/** What is known of one transport of an agent. */
export const Verdict = z.object({
  degraded: z.boolean(),
  /** What failed, in a sentence; null where nothing did. */
  why: z.string().nullable(),
});

export const TestedAgent = z.object({
  /** The agent's release that was tested. */
  version: z.string(),
  at: Instant,
  transports: z.partialRecord(TransportName, Verdict),
});
export type TestedAgent = z.infer<typeof TestedAgent>;

/** `<state>/selftest.json`: each agent as it was tested last. */
export const Verdicts = z.object({ agents: z.partialRecord(Backend, TestedAgent) });
export type Verdicts = z.infer<typeof Verdicts>;

/** The name of the file in the state directory. */
export const VERDICTS_FILE = "selftest.json";

/** The file as it is read: an older release wrote the transports as `rungs`. */
const StoredVerdicts = z.object({
  agents: z.partialRecord(Backend, z.preprocess(upgradeAgent, TestedAgent)),
});

function upgradeAgent(agent: unknown): unknown {
  if (typeof agent !== "object" || agent === null || !("rungs" in agent)) return agent;
  return { transports: agent.rungs, ...agent };
}

/** Parses the file; undefined if it is not valid. */
export function parseVerdicts(text: string): Verdicts | undefined {
  try {
    return StoredVerdicts.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
