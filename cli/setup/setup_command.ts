/** `mesh setup`: installs mesh in the coding agents' configuration, or removes it. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { UnreadableConfig } from "../../daemon/app/config_file.ts";
import { ensureToken } from "./token.ts";
import { type Joined, joinRelay, RelayJoinError } from "./relay.ts";
import {
  applyChange,
  applyTextChange,
  type Edit,
  exists,
  Unchangeable,
} from "../../daemon/features/agents/install.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";

const USAGE = "mesh setup [--agent NAME] [--relay URL] [--dry-run] [--uninstall] [--json]";
const EXIT = { done: 0, refused: 1, misused: 2 } as const;

/** The agents that can be set up. */
const SETUP_AGENTS = AGENTS.flatMap((agent) =>
  agent.setup ? [{ ...agent, setup: agent.setup }] : []
);
type SetupAgent = typeof SETUP_AGENTS[number];
const NAMES = SETUP_AGENTS.map(({ id }) => id).join(", ");

function isInstalled({ programs: [program = ""], setup }: SetupAgent, env: Env): boolean {
  return isOnPath(program, env) || exists(setup.home(env));
}

interface SetupOptions {
  readonly agent?: string | undefined;
  /** The relay to join. If `relay` is given without `agent`, no agents are set up. */
  readonly relay?: string | undefined;
  readonly dry_run: boolean;
  readonly uninstall: boolean;
  readonly json: boolean;
}

/** The changes to one agent's files, made or planned, with a diff for each changed file. */
interface AgentResult {
  readonly agent: string;
  readonly differences: readonly string[];
  readonly notice?: string;
}

/** Where the command prints results and errors, line by line. */
export interface SetupOutput {
  out(text: string): void;
  err(text: string): void;
}

type SendRequest = (request: Request) => Promise<Response>;

/** Runs the command; returns the exit code: 0 done, 1 refused, 2 wrong usage (contract 7). */
export async function runSetup(
  args: readonly string[],
  env: Env,
  output: SetupOutput = TERMINAL,
  send: SendRequest = fetch,
): Promise<number> {
  const options = readOptions(args);
  if (typeof options === "string") {
    output.err(options);
    return EXIT.misused;
  }
  const relay = await setUpRelay(options, env, { output, send });
  if (relay !== EXIT.done || (options.relay !== undefined && options.agent === undefined)) {
    return relay;
  }
  return await setUpAgents(options, env, output);
}

/** Joins the relay of `--relay`, if given. */
async function setUpRelay(
  { relay: url, dry_run, json }: SetupOptions,
  env: Env,
  { output, send }: { output: SetupOutput; send: SendRequest },
): Promise<number> {
  if (url === undefined) return EXIT.done;
  try {
    const joined = await joinRelay({ env, url, dry_run, send, clock: systemClock });
    if (json) output.out(JSON.stringify(joined, undefined, 2));
    else relayLines(joined).forEach((text) => output.out(text));
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof RelayJoinError || error instanceof UnreadableConfig)) throw error;
    output.err(error.message);
    return error instanceof RelayJoinError && error.misused ? EXIT.misused : EXIT.refused;
  }
}

async function setUpAgents(options: SetupOptions, env: Env, output: SetupOutput): Promise<number> {
  const fail = (text: string, code: number) => (output.err(text), code);
  const agents = SETUP_AGENTS.filter((agent) =>
    options.agent === undefined ? isInstalled(agent, env) : options.agent === agent.id
  );
  if (agents.length === 0) return fail(noAgentFound(options), EXIT.refused);
  try {
    const done: AgentResult[] = [];
    for (const agent of agents) {
      const result = await setUp(agent, options, env);
      if (!options.json) agentLines(result, options).forEach((text) => output.out(text));
      done.push(result);
    }
    const { dry_run, uninstall } = options;
    const token = uninstall ? undefined : ensureToken(env, { ids: randomIds, dry_run });
    const summary = { agents: done, token_written_to: token ?? null, dry_run, uninstall };
    if (options.json) output.out(JSON.stringify(summary, undefined, 2));
    else if (token) tokenLines(token, dry_run).forEach((text) => output.out(text));
  } catch (error) {
    if (!(error instanceof Unchangeable || error instanceof UnreadableConfig)) throw error;
    return fail(error.message, EXIT.refused);
  }
  return EXIT.done;
}

/** The command that runs this program from any folder, compiled or from source. */
export function meshCommand(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  return [Deno.execPath(), "run", "-A", "--quiet", main];
}

function readOptions(args: readonly string[]): SetupOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        agent: { type: "string" },
        relay: { type: "string" },
        "dry-run": { type: "boolean", default: false },
        uninstall: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const { agent, relay, uninstall, json } = values;
    if (relay !== undefined && uninstall) {
      return "--relay cannot be used with --uninstall; to leave a relay: `mesh config set relay.enabled false`";
    }
    if (agent !== undefined && !SETUP_AGENTS.some(({ id }) => id === agent)) {
      return `--agent: "${agent}" is not one of ${NAMES}`;
    }
    return { agent, relay, uninstall, json, dry_run: values["dry-run"] };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return `${error.message}\nUsage: ${USAGE}`;
  }
}

async function setUp(
  { id, setup }: SetupAgent,
  { dry_run, uninstall }: SetupOptions,
  env: Env,
): Promise<AgentResult> {
  const all = await setup.edits(env, { mesh: meshCommand() });
  const apply = (edit: Edit, dry_run: boolean) => {
    const options = { dry_run, undo: uninstall };
    return "addText" in edit
      ? applyTextChange(edit.path, uninstall ? edit.removeText : edit.addText, options)
      : applyChange(edit.path, uninstall ? edit.remove : edit.add, options);
  };
  // Tries every edit as a dry run first, so that a damaged file does not leave the agent half set
  // up.
  const differences = all.map((edit) => apply(edit, true)).filter((text) => text !== "");
  if (!dry_run) { for (const edit of all) apply(edit, false); }
  const { notice } = setup;
  return { agent: id, differences, ...(notice && !uninstall && { notice }) };
}

function relayLines({ relay, secret, written_to, dry_run }: Joined): string[] {
  if (dry_run) {
    const what = secret === "kept" ? "keep its secret" : "register for a new secret";
    return [`${written_to}: would join ${relay} and ${what}`];
  }
  return [
    `${written_to}: joined ${relay} with ${
      secret === "kept" ? "the existing secret" : "a new secret"
    }`,
    "Sign in to the relay with relay.secret. Anyone who has it can reach your machines: share it " +
    "only with your own machines.",
    "Next: restart the daemon with `mesh down` and `mesh up`, then check `mesh status`.",
  ];
}

function tokenLines(path: string, dry_run: boolean): string[] {
  if (dry_run) return [`${path}: would add a token, daemon.auth_token`];
  return [
    `${path}: added a token, daemon.auth_token; all callers but the dashboard must send it`,
    "Next: if the daemon is running, restart it with `mesh down` and `mesh up`.",
  ];
}

function agentLines({ agent, differences, notice }: AgentResult, options: SetupOptions): string[] {
  const { dry_run, uninstall } = options;
  if (differences.length === 0) return [`${agent}: nothing to change`];
  const head = `${agent}: ${dry_run ? "would change" : "changed"}`;
  const ends = [nextStep(uninstall), ...(notice ? [notice] : [])];
  return [head, ...differences, ...(dry_run ? [] : ends)];
}

function nextStep(uninstall: boolean): string {
  return uninstall
    ? "Next: restart open sessions of the agent; they still use the old settings."
    : "Next: run `mesh up`, start the agent (or restart its open sessions), and check that " +
      "`mesh peers` lists it.";
}

function noAgentFound({ uninstall }: SetupOptions): string {
  return `No installed agent was found to ${uninstall ? "remove mesh from" : "set up"}. ` +
    `Known agents: ${NAMES}; choose one with --agent`;
}

function isOnPath(program: string, env: Env): boolean {
  return (env["PATH"] ?? "").split(":").some((dir) => dir !== "" && exists(join(dir, program)));
}

const TERMINAL: SetupOutput = {
  out: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`)),
  err: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
};
