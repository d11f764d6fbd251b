/**
 * Turns results into a verdict per transport, and saves the verdicts in a file that the daemon and
 * the doctor read.
 */

import { join } from "kit/core/path.ts";
import * as z from "zod";
import {
  parseVerdicts,
  type TestedAgent,
  Verdicts,
  VERDICTS_FILE,
} from "protocol/agents/selftest.ts";
import { type Backend, TransportName } from "protocol/agents/contract.ts";
import { writePrivately } from "kit/host/durable_files.ts";
import { type Env, readTextOrNothing, statePath } from "../../daemon/host/paths.ts";

/** One row of the result table. */
export interface Result {
  readonly agent: string;
  readonly version: string;
  readonly scenario: string;
  /** The transport that was used or intended; null when none was tried. */
  readonly transport: string | null;
  readonly result: "passed" | "failed" | "not tested";
  readonly ms: number | null;
  /** A remark, or the failure; null if there is neither. */
  readonly detail: string | null;
}

/** The fields of a failure outside of any scenario. */
export const FAILED = { transport: null, result: "failed", ms: null } as const;

/**
 * One failure degrades a transport. Only a complete run without that failure restores the
 * transport, because a partial run may have skipped the scenario that failed before.
 */
export function toVerdict(
  results: readonly Result[],
  { at, isComplete }: { at: number; isComplete: boolean },
): TestedAgent | undefined {
  const testedResults = results.filter(({ result, transport }) =>
    result !== "not tested" && transport !== null
  );
  const nameOf = ({ transport }: Result) => TransportName.safeParse(transport).data;
  const byTransport = Map.groupBy(testedResults, nameOf);
  const verdicts = [...byTransport].flatMap(([transport, group]) => {
    if (transport === undefined) return [];
    const failed = group.filter(({ result }) => result === "failed");
    if (failed.length === 0 && !isComplete) return [];
    const why = failed.map(({ scenario, detail }) => `${scenario}: ${detail}`).join("; ");
    return [[transport, { degraded: failed.length > 0, why: why || null }] as const];
  });
  const [first] = testedResults;
  if (!first || verdicts.length === 0) return undefined;
  return { version: first.version, at, transports: Object.fromEntries(verdicts) };
}

/** Merges new verdicts of one agent; transports that were not tested keep their verdict. */
export function mergeVerdict(known: Verdicts, agent: Backend, tested: TestedAgent): Verdicts {
  const transports = { ...known.agents[agent]?.transports, ...tested.transports };
  return { agents: { ...known.agents, [agent]: { ...tested, transports } } };
}

/** Saves the verdicts in the user's state directory, where the daemon reads them. */
export function saveVerdict(env: Env, agent: Backend, tested: TestedAgent): void {
  const dir = statePath(env);
  const path = join(dir, VERDICTS_FILE);
  const known = parseVerdicts(readTextOrNothing(path) ?? "") ?? { agents: {} };
  Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const encoded = z.encode(Verdicts, mergeVerdict(known, agent, tested));
  writePrivately(path, `${JSON.stringify(encoded, null, 2)}\n`);
}
