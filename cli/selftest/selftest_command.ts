/** `mesh selftest`: each agent that is installed here, really started, really told something. */

import type { AgentDefinition } from "../../daemon/features/agents/definition.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  type Command,
  interruptible,
  JSON_FLAG,
  type Session,
  type Words,
} from "../command/command.ts";
import { EXIT, Failed, Misused } from "../client/failures.ts";
import { type Machine, thisMachine, versionIn } from "../doctor/machine.ts";
import { ink, type Piece, print, printJson, printTable, type Terminal } from "../output/print.ts";
import { TESTABLE } from "./agents.ts";
import { play } from "./run.ts";
import { keepVerdict, type Result, verdictOf } from "./verdicts.ts";
import { type Scenario, SCENARIOS } from "./scenarios.ts";
import { envIn, hasTmux } from "../client/throwaway.ts";

const NAMES: readonly string[] = TESTABLE.map(({ id }) => id);

export const SELFTEST: Command = {
  words: "selftest",
  summary: "Start each installed agent on a scripted model, and see how messages reach it",
  about: "Idle, busy, with a half-typed draft, at a dialog, detached, over a killed daemon, and " +
    "resumed; about half a minute an agent. It needs no network, and all of it happens in a home " +
    "and a mesh that are removed at the end: nothing of yours is touched. A rung that fails is " +
    "degraded from then on: the daemon tries it last, and `mesh doctor` and `mesh peers` say so, " +
    "until it passes. 1 when anything failed.",
  flags: {
    "--agent <name>": `this one only: ${NAMES.join(", ")}`,
    "--scenario <name> ...": "try only this; what passes then clears nothing",
    ...JSON_FLAG,
  },
  example: "mesh selftest --agent claude-code",
  run: selftest,
};

/** An agent that is here, or is not. */
interface Found {
  readonly agent: AgentDefinition;
  readonly version: string | undefined;
}

async function selftest(session: Session, words: Words): Promise<number> {
  const { env, clock, terminal } = session;
  const machine = thisMachine(env, clock);
  const wanted = wantedBy(words);
  const scenarios = scenariosOf(words);
  if (!hasTmux(env)) throw new Failed("tmux is not installed, and the agents' terminals need it");
  const found = await Promise.all(wanted.map((agent) => lookFor(agent, machine)));
  const json = words.flag("json");
  const results: Result[] = [];
  const interrupted = await interruptible(async (signal) => {
    for (const { agent, version } of found) {
      const fixture = await agent.fixture?.();
      if (version === undefined || !fixture) continue;
      if (!json) print(terminal, ink("dim", `${agent.title} ${version}`));
      const tell = (one: Result) => json || print(terminal, ...lineOf(one));
      try {
        const of = await play({ agent, fixture }, { env, clock, signal, version, scenarios, tell });
        results.push(...of);
        const whole = scenarios.length === SCENARIOS.length;
        const verdict = verdictOf(of, { at: clock.now(), whole });
        if (verdict) keepVerdict(env, agent.id, verdict);
      } catch (fault) {
        if (signal.aborted) return true;
        throw fault;
      }
    }
    return false;
  });
  const missing = found.filter(({ version }) => version === undefined);
  if (json) printJson(terminal, answerOf(results, missing, interrupted));
  else show(terminal, results, missing);
  if (interrupted) return EXIT.interrupted;
  return results.some(({ result }) => result === "failed") ? EXIT.refused : EXIT.done;
}

function wantedBy(words: Words): readonly AgentDefinition[] {
  const name = words.maybe("agent");
  if (name === undefined) return TESTABLE;
  const wanted = TESTABLE.filter(({ id }) => id === name);
  if (wanted.length === 0) {
    throw new Misused(`--agent: "${name}" is not one of ${NAMES.join(", ")}`);
  }
  return wanted;
}

function scenariosOf(words: Words): readonly Scenario[] {
  const names = words.list("scenario");
  if (names.length === 0) return SCENARIOS;
  const known = SCENARIOS.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return SCENARIOS.filter(({ name }) => names.includes(name));
  throw new Misused(`--scenario: "${unknown}" is not one of ${known.join(", ")}`);
}

/** Its version, asked in a home that is not the user's: no agent writes there but into its own. */
async function lookFor(agent: AgentDefinition, machine: Machine): Promise<Found> {
  const path = machine.find(agent.programs[0] ?? agent.id);
  if (path === undefined) return { agent, version: undefined };
  const home = Deno.makeTempDirSync({ prefix: "mesh-selftest-" });
  try {
    const env: Env = envIn(home, machine.env);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const ran = await thisMachine(env, machine.clock).run(path, ["--version"]);
      const version = versionIn(ran?.said ?? "");
      if (version !== undefined) return { agent, version };
    }
    return { agent, version: "unknown" };
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
}

/** The first run of a large program, on a machine that is busy, may take too long. */
const TRIES_MAX = 3;

function answerOf(results: readonly Result[], missing: readonly Found[], interrupted: boolean) {
  return {
    ok: !interrupted && results.every(({ result }) => result !== "failed"),
    interrupted,
    results,
    not_installed: missing.map(({ agent }) => agent.id),
  };
}

const STYLES = { passed: "green", failed: "red", "not tested": "dim" } as const;

/** Told as it happens: the table comes at the end. */
function lineOf({ scenario, result, detail }: Result): Piece[] {
  const more = detail === null ? "" : `: ${detail}`;
  return ["  ", ink(STYLES[result], result.padEnd(10)), "  ", `${scenario}${more}`];
}

function show(to: Terminal, results: readonly Result[], missing: readonly Found[]): void {
  if (results.length > 0) {
    print(to);
    printTable(
      to,
      [
        { title: "AGENT", of: ({ agent }) => ink("cyan", agent), kept: true },
        { title: "VERSION", of: ({ version }) => version, kept: true },
        { title: "SCENARIO", of: ({ scenario }) => scenario, kept: true },
        { title: "RUNG", of: ({ rung }) => rung ?? "–", kept: true },
        { title: "RESULT", of: ({ result }) => ink(STYLES[result], result), kept: true },
        { title: "TIME", of: ({ ms }) => ms === null ? "–" : `${(ms / 1000).toFixed(1)} s` },
        { title: "REMARK", of: ({ detail }) => detail ?? "" },
      ],
      results,
      "",
    );
  }
  for (const { agent: { title, programs: [program = ""] } } of missing) {
    print(to, ink("dim", `${title} is not installed: there is no \`${program}\` on the PATH.`));
  }
  const failed = results.filter(({ result }) => result === "failed").length;
  if (failed > 0) {
    print(to, ink("red", `${failed} failed`), "; the rungs are degraded: mesh doctor");
  }
}
