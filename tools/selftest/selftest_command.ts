/** `mesh selftest`: starts each installed agent on a scripted model and tests message delivery. */

import { makeTemporaryFolder } from "kit/host/file_errors.ts";
import { messageOf } from "kit/core/text.ts";
import type { AgentDefinition } from "../../daemon/features/agents/definition.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  type Args,
  type Command,
  type CommandContext,
  interruptible,
  JSON_FLAG,
} from "../../cli/command/command.ts";
import { CommandError, EXIT, UsageError } from "../../cli/client/failures.ts";
import { type Machine, parseVersion, thisMachine } from "../../cli/doctor/machine.ts";
import { styled, type StyledText, type Terminal } from "../../cli/output/terminal.ts";
import { TESTABLE_AGENTS } from "./agents.ts";
import { failureDetail, testAgent } from "./agent_run.ts";
import { removeFolder } from "./harness.ts";
import { FAILED, type Result, saveVerdict, toVerdict } from "./verdicts.ts";
import { type Scenario, SCENARIOS } from "./scenarios.ts";
import { hasTmux, isolatedEnv } from "../../cli/client/isolated_env.ts";

const AGENT_IDS: readonly string[] = TESTABLE_AGENTS.map(({ id }) => id);

export const SELFTEST: Command = {
  usage: "selftest",
  needs: "this machine",
  summary: "Test how messages reach each installed agent, using a scripted model",
  details:
    "Tests each agent while idle, busy, with a half-typed draft, at a dialog, detached, after a " +
    "daemon crash, and resumed. This takes about half a minute per agent and needs no network. " +
    "It runs in a temporary home and mesh and does not touch your files. A transport that fails " +
    "is degraded until it passes: the daemon tries it last, and `mesh doctor` and `mesh peers` " +
    "show it. Exits with 1 when anything failed, or when the agent of --agent is not installed.",
  flags: {
    "--agent <name>": `test only this agent: one of ${AGENT_IDS.join(", ")}`,
    "--scenario <name> ...":
      "run only this scenario; a pass clears no degraded transport; repeatable",
    ...JSON_FLAG,
  },
  example: "mesh selftest --agent claude-code",
  run: selftest,
};

/** An agent and its version. The version is undefined when the agent is not installed. */
interface DetectedAgent {
  readonly agent: AgentDefinition;
  readonly version: string | undefined;
  /** The error because of which its version is unknown. */
  readonly error?: unknown;
}

async function selftest(context: CommandContext, args: Args): Promise<number> {
  const { env, clock, terminal } = context;
  const machine = thisMachine(env, clock);
  const selected = selectAgents(args);
  const scenarios = selectScenarios(args);
  if (!hasTmux(env)) {
    throw new CommandError(
      "tmux is not installed; install it, because the agents run in its panes",
    );
  }
  const onLeftBehind = (error: unknown) => {
    const text = `The self-test left something behind: ${messageOf(error)}`;
    terminal.printError(styled("yellow", text));
  };
  const found = await Promise.all(
    selected.map((agent) => detectAgent(agent, machine, onLeftBehind)),
  );
  const json = args.flag("json");
  const results: Result[] = [];
  const onResult = (result: Result) => {
    results.push(result);
    if (!json) terminal.print(...formatResult(result));
  };
  const interrupted = await interruptible((signal) => {
    return testEach(found, { signal, onResult }, async ({ agent, version }, onResult) => {
      const fixture = await agent.fixture?.();
      if (!fixture) return;
      if (!json) terminal.print(styled("dim", `${agent.title} ${version}`));
      const options = { env, clock, signal, version, scenarios, onResult, onLeftBehind };
      const outcomes = await testAgent({ agent, fixture }, options);
      const isComplete = scenarios.length === SCENARIOS.length;
      const verdict = toVerdict(outcomes, { at: clock.now(), isComplete });
      if (verdict) saveVerdict(env, agent.id, verdict);
    });
  });
  const missing = found.filter(({ version }) => version === undefined);
  if (json) {
    terminal.printJson(
      toJson(results, missing, { interrupted, isNamed: args.get("agent") !== undefined }),
    );
  } else printReport(terminal, results, missing);
  if (interrupted) return EXIT.interrupted;
  if (args.get("agent") !== undefined && missing.length > 0) return EXIT.refused;
  return results.some(({ result }) => result === "failed") ? EXIT.refused : EXIT.done;
}

/**
 * Tests the installed agents one after another. An error is the result of its agent alone.
 * Returns true if the person interrupted the test.
 */
export async function testEach(
  found: readonly DetectedAgent[],
  { signal, onResult }: { readonly signal: AbortSignal; onResult(result: Result): void },
  test: (
    detected: DetectedAgent & { readonly version: string },
    onResult: (result: Result) => void,
  ) => Promise<void>,
): Promise<boolean> {
  for (const { agent, version, error } of found) {
    if (version === undefined) continue;
    try {
      if (error !== undefined) throw error;
      await test({ agent, version }, onResult);
    } catch (error) {
      if (signal.aborted) return true;
      const detail = failureDetail(error, signal);
      onResult({ agent: agent.id, version, scenario: "run", ...FAILED, detail });
    }
  }
  return false;
}

function selectAgents(args: Args): readonly AgentDefinition[] {
  const name = args.get("agent");
  if (name === undefined) return TESTABLE_AGENTS;
  const selected = TESTABLE_AGENTS.filter(({ id }) => id === name);
  if (selected.length === 0) {
    throw new UsageError(`--agent: "${name}" is not one of ${AGENT_IDS.join(", ")}`);
  }
  return selected;
}

function selectScenarios(args: Args): readonly Scenario[] {
  const names = args.list("scenario");
  if (names.length === 0) return SCENARIOS;
  const known = SCENARIOS.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return SCENARIOS.filter(({ name }) => names.includes(name));
  throw new UsageError(`--scenario: "${unknown}" is not one of ${known.join(", ")}`);
}

const UNKNOWN_VERSION = "unknown";

/** Reads the agent's version in a temporary home, so that it writes nothing to the user's. */
async function detectAgent(
  agent: AgentDefinition,
  machine: Machine,
  onLeftBehind: (error: unknown) => void,
): Promise<DetectedAgent> {
  const path = machine.find(agent.programs[0] ?? agent.id);
  if (path === undefined) return { agent, version: undefined };
  let home: string | undefined;
  try {
    home = makeTemporaryFolder("mesh-selftest-");
    const env: Env = isolatedEnv(home, machine.env);
    const fresh = thisMachine(env, machine.clock, VERSION_MS_MAX);
    const result = await fresh.run(path, ["--version"]);
    return { agent, version: parseVersion(result?.output ?? "") ?? UNKNOWN_VERSION };
  } catch (error) {
    return { agent, version: UNKNOWN_VERSION, error };
  } finally {
    // A program that took too long to print its version may still write.
    if (home !== undefined) await removeFolder(home, machine.clock).catch(onLeftBehind);
  }
}

/**
 * Time limit for a version. Every agent starts at once, each in a new home, and a large program
 * that starts there on a busy machine takes much longer than usual.
 */
const VERSION_MS_MAX = 60_000;

function toJson(
  results: readonly Result[],
  missing: readonly DetectedAgent[],
  { interrupted, isNamed }: { interrupted: boolean; isNamed: boolean },
) {
  const isMissing = isNamed && missing.length > 0;
  return {
    ok: !interrupted && !isMissing && results.every(({ result }) => result !== "failed"),
    interrupted,
    results,
    not_installed: missing.map(({ agent }) => agent.id),
  };
}

const STYLES = { passed: "green", failed: "red", "not tested": "dim" } as const;

/** The line printed for each result as it arrives; the table follows at the end. */
function formatResult({ scenario, result, detail }: Result): StyledText[] {
  const more = detail === null ? "" : `: ${detail}`;
  return ["  ", styled(STYLES[result], result.padEnd(10)), "  ", `${scenario}${more}`];
}

function printReport(
  to: Terminal,
  results: readonly Result[],
  missing: readonly DetectedAgent[],
): void {
  if (results.length > 0) {
    to.print();
    to.printTable(results, {
      AGENT: ({ agent }) => styled("cyan", agent),
      VERSION: ({ version }) => version,
      SCENARIO: ({ scenario }) => scenario,
      TRANSPORT: ({ transport }) => transport ?? "–",
      RESULT: ({ result }) => styled(STYLES[result], result),
      TIME: ({ ms }) => ms === null ? "–" : `${(ms / 1000).toFixed(1)} s`,
      REMARK: ({ detail }) => detail ?? "",
    }, { essential: ["AGENT", "VERSION", "SCENARIO", "TRANSPORT", "RESULT"] });
  }
  for (const { agent: { title, programs: [program = ""] } } of missing) {
    to.print(styled("dim", `${title} is not installed: \`${program}\` is not on the PATH.`));
  }
  const failed = results.filter(({ result }) => result === "failed").length;
  if (failed > 0) {
    to.print(
      styled("red", `${failed} failed`),
      "; the failed transports are degraded, see mesh doctor",
    );
  }
}
