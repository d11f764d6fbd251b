/** What `mesh selftest` found of each agent's rungs: written by it, read by the daemon. */

import * as z from "zod";
import { Instant } from "kit/core/schema.ts";
import { Backend, TransportName } from "../contract.ts";

/** What is known of one rung of an agent. */
export const Verdict = z.object({
  degraded: z.boolean(),
  /** What failed, in a sentence; null where nothing did. */
  why: z.string().nullable(),
});

export const TestedAgent = z.object({
  /** The agent's release that was tested. */
  version: z.string(),
  at: Instant,
  rungs: z.partialRecord(TransportName, Verdict),
});
export type TestedAgent = z.infer<typeof TestedAgent>;

/** `<state>/selftest.json`: each agent as it was tested last. */
export const Verdicts = z.object({ agents: z.partialRecord(Backend, TestedAgent) });
export type Verdicts = z.infer<typeof Verdicts>;

/** The name of the file in the state directory. */
export const VERDICTS_FILE = "selftest.json";

/** What a text says; undefined where it is none of ours, or of a release that wrote otherwise. */
export function parseVerdicts(text: string): Verdicts | undefined {
  try {
    return Verdicts.safeParse(JSON.parse(text)).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
