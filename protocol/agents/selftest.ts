/** The results of `mesh selftest` for each agent's transports, which the daemon reads. */

import * as z from "zod";
import { contract } from "protocol/contract.ts";
import { Instant } from "kit/core/schema.ts";
import { tryJson } from "kit/core/text.ts";
import { Backend, TransportName } from "protocol/agents/contract.ts";

/** The result for one transport. */
export const Verdict = z.object({
  degraded: z.boolean(),
  /** The failure, as a sentence; null if the step passed. */
  why: z.string().nullable(),
});

export const TestedAgent = z.object({
  /** The agent's release that was tested. */
  version: z.string(),
  at: Instant,
  transports: z.partialRecord(TransportName, Verdict),
});
export type TestedAgent = z.infer<typeof TestedAgent>;

/** `<state>/selftest.json`: the last test of each agent. */
export const Verdicts = z.object({ agents: z.partialRecord(Backend, TestedAgent) });
export type Verdicts = z.infer<typeof Verdicts>;

export const VERDICTS_FILE = "selftest.json";

export const listSelftests = contract({
  id: "agents.selftests",
  method: "GET",
  path: "/selftests",
  summary: "What `mesh selftest` found last for each transport of each agent that it tested",
  access: "caller",
  tunnel: "open",
  returns: z.object({
    tested: z.array(Verdict.extend({
      agent: Backend,
      version: z.string(),
      at: Instant,
      transport: TransportName,
    })),
  }),
});

/** The stored form. An older release wrote the transports as `rungs`. */
const StoredVerdicts = z.object({
  agents: z.partialRecord(Backend, z.preprocess(upgradeAgent, TestedAgent)),
});

function upgradeAgent(agent: unknown): unknown {
  if (typeof agent !== "object" || agent === null || !("rungs" in agent)) return agent;
  return { transports: agent.rungs, ...agent };
}

/** Parses the file; undefined if it is malformed, or if another release wrote it differently. */
export function parseVerdicts(text: string): Verdicts | undefined {
  return StoredVerdicts.safeParse(tryJson(text)).data;
}
