/** What the results say of each transport, and where the daemon and `mesh doctor` read it. */

import { join } from "node:path";
import * as z from "zod";
import {
  parseVerdicts,
  type TestedAgent,
  Verdicts,
  VERDICTS_FILE,
} from "../../daemon/features/agents/selftest/contract.ts";
import { type Backend, TransportName } from "../../daemon/features/agents/contract.ts";
import { type Env, readTextOrNothing, statePath, writePrivately } from "../../daemon/host/paths.ts";

/** One line of the table. */
export interface Result {
  readonly agent: string;
  readonly version: string;
  readonly scenario: string;
  /** The way that the message took, or was to take; null where none was tried. */
  readonly transport: string | null;
  readonly result: "passed" | "failed" | "not tested";
  readonly ms: number | null;
  /** What is worth a remark, or what failed. */
  readonly detail: string | null;
}

/**
 * One failure degrades a transport; passing the complete run restores it. Passing a part of the run
 * says nothing: the part that failed before may be another.
 */
export function toVerdict(
  results: readonly Result[],
  { at, isComplete }: { at: number; isComplete: boolean },
): TestedAgent | undefined {
  const testedResults = results.filter(({ result, transport }) =>
    result !== "not tested" && transport !== null
  );
  const byTransport = Map.groupBy(
    testedResults,
    ({ transport }) => TransportName.safeParse(transport).data,
  );
  const transports = [...byTransport].flatMap(([transport, group]) => {
    if (transport === undefined) return [];
    const failed = group.filter(({ result }) => result === "failed");
    if (failed.length === 0 && !isComplete) return [];
    const why = failed.map(({ scenario, detail }) => `${scenario}: ${detail}`).join("; ");
    return [[transport, { degraded: failed.length > 0, why: why || null }] as const];
  });
  const [first] = testedResults;
  if (!first || transports.length === 0) return undefined;
  return { version: first.version, at, transports: Object.fromEntries(transports) };
}

/** What is known of the agents, with what was found of one; its transports not tried now stay. */
export function mergeVerdict(known: Verdicts, agent: Backend, tested: TestedAgent): Verdicts {
  const transports = { ...known.agents[agent]?.transports, ...tested.transports };
  return { agents: { ...known.agents, [agent]: { ...tested, transports } } };
}

/** Keeps it in the user's own state directory, for the daemon that runs there. */
export function saveVerdict(env: Env, agent: Backend, tested: TestedAgent): void {
  const dir = statePath(env);
  const path = join(dir, VERDICTS_FILE);
  const known = parseVerdicts(readTextOrNothing(path) ?? "") ?? { agents: {} };
  Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
  const encoded = z.encode(Verdicts, mergeVerdict(known, agent, tested));
  writePrivately(path, `${JSON.stringify(encoded, null, 2)}\n`);
}
