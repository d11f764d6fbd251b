/** The agents that `mesh setup` can set up, and the changes to their files. */

import { systemClock } from "kit/core/clock.ts";
import { makeDirectory } from "kit/host/durable_files.ts";
import { type Env, statePath } from "../../daemon/host/paths.ts";
import { scriptEdit } from "../../daemon/features/agents/hooks/hook_script.ts";
import {
  applyEdit,
  type Edit,
  exists,
  learnPrograms,
  planEdit,
  type SetupPlan,
} from "../../daemon/features/agents/install.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";
import { refusalOf } from "../../daemon/features/agents/settings_files/json.ts";
import { MeshPrograms } from "../../daemon/features/agents/settings_files/mesh_programs.ts";
import {
  formatSwitch,
  scopeReader,
} from "../../daemon/features/agents/settings_files/switched_off.ts";
import { runProgram } from "../../daemon/host/program_group.ts";
import { programsOnPath } from "../client/program.ts";

/** The agents that can be set up. */
export const SETUP_AGENTS = AGENTS.flatMap((agent) =>
  agent.setup ? [{ ...agent, setup: agent.setup }] : []
);
export type SetupAgent = typeof SETUP_AGENTS[number];

export const AGENT_IDS: readonly string[] = SETUP_AGENTS.map(({ id }) => id);

/** The id of an agent that a person named by its id or by its program; else the same word. */
export function agentIdOf(word: string | undefined): string | undefined {
  return SETUP_AGENTS.find(({ programs: [program] }) => program === word)?.id ?? word;
}

/** The agents whose status line tells of limits. */
export const STATUS_LINE_AGENTS = SETUP_AGENTS.filter(({ setup }) => setup.keptStatusLine);

/**
 * The outcome for one file. `left`: the file could be changed, but another file of its agent could
 * not.
 */
interface FileResult {
  readonly path: string;
  readonly outcome: "changed" | "would_change" | "unchanged" | "left" | "refused";
  /** The reason for the refusal, and what to do. */
  readonly error?: string;
  /** The change that setup would make to a refused file, as a diff; set if the file can be read. */
  readonly difference?: string;
}

/** The changes to one agent's files, made or planned. */
export interface AgentResult {
  readonly agent: string;
  readonly files: readonly FileResult[];
  /** For each changed file, its path and the changed lines. */
  readonly differences: readonly string[];
  /** The setting that was added so that the agent uses mesh's tools without a question. */
  readonly permission?: string;
  /** The tasks that are left to the user. */
  readonly notice?: string;
  /** Warnings about settings that keep our part from running, each with what to do. */
  readonly warnings: readonly string[];
  /** The reason why a file of this agent was not changed. */
  readonly error?: string;
}

interface AgentChoice {
  readonly agent: string | undefined;
  readonly all: boolean;
}

/** The named agent, all known agents, or the installed agents. */
export function chosenAgents({ agent, all }: AgentChoice, env: Env): readonly SetupAgent[] {
  if (agent !== undefined) return SETUP_AGENTS.filter(({ id }) => id === agent);
  return all ? SETUP_AGENTS : SETUP_AGENTS.filter((agent) => isInstalled(agent, env));
}

function isInstalled({ programs: [program = ""], setup }: SetupAgent, env: Env): boolean {
  return programsOnPath(program, env).length > 0 || exists(setup.home(env));
}

interface AgentSetupOptions {
  readonly dry_run: boolean;
  readonly uninstall: boolean;
  /** The command that the agents call. */
  readonly mesh: readonly string[];
  /** If true, our MCP server replaces another program's server of our name. */
  readonly replace: boolean;
  /** If true, Claude Code gets a status line, unless it has one. */
  readonly status_line?: boolean;
}

/**
 * Changes the files of one agent. If one file cannot be changed, changes none: an agent with hooks
 * but no server, or a server but no hooks, would be half set up.
 */
export async function setUpAgent(
  agent: SetupAgent,
  options: AgentSetupOptions,
  env: Env,
): Promise<AgentResult> {
  const { id, setup } = agent;
  const { dry_run, uninstall } = options;
  try {
    const edits = await editsOf(agent, options, env);
    const plan = edits.map((edit) => tryPlan(edit, uninstall));
    const isRefused = plan.some(({ file }) => file.outcome === "refused");
    const results = isRefused
      ? plan.map(leaveOut)
      : dry_run
      ? plan
      : applyAll(edits, uninstall, env);
    const error = results.flatMap(({ file }) => file.error ?? []).join("\n");
    const differences = results.map(({ difference }) => difference).filter((text) => text !== "");
    const switches = uninstall ? [] : await setup.switchedOff(env, scopeReader());
    const kept = options.status_line
      ? await setup.keptStatusLine?.(env, scopeReader(), statusLineScriptPath(agent, env))
      : undefined;
    return {
      agent: id,
      files: results.map(({ file }) => file),
      differences,
      warnings: [
        ...switches.map((found) => `${agent.title} ${formatSwitch(found)}; ${found.fix}`),
        ...(kept === undefined ? [] : [kept]),
      ],
      ...(!uninstall && adds(differences, setup.permission) && { permission: setup.permission }),
      ...(setup.notice && !uninstall && { notice: setup.notice }),
      ...(error !== "" && { error }),
    };
  } catch (error) {
    // Setup reads some files before it can plan; one of them is unusable.
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return { agent: id, files: [], differences: [], warnings: [], error: refusal };
  }
}

/** True if a text is more often in the added lines than in the removed ones. */
function adds(differences: readonly string[], text: string | undefined): text is string {
  if (text === undefined) return false;
  const lines = differences.flatMap((difference) => difference.split("\n").slice(1));
  const count = (sign: string) =>
    lines.filter((line) => line.startsWith(sign)).join("\n").split(text).length;
  return count("+") > count("-");
}

/** The edits of an agent's files. Adds the programs that our marks name to the plan. */
export async function editsOf(
  agent: SetupAgent,
  { mesh, replace, status_line = false, uninstall }: Omit<AgentSetupOptions, "dry_run">,
  env: Env,
): Promise<readonly Edit[]> {
  const programs = new MeshPrograms(env, mesh);
  const hook_script = hookScriptPath(agent, env);
  const usesScript = hook_script !== undefined && await runsHookScripts(env);
  const script = statusLineScriptPath(agent, env);
  // Uninstalling must recognize the results of setup both with and without these options.
  const plan: SetupPlan = {
    mesh,
    programs,
    replace: replace || uninstall,
    hook_script: usesScript ? hook_script : undefined,
    status_line: { script, wanted: status_line || uninstall && exists(script) },
  };
  const edits = [
    ...(hook_script !== undefined && (usesScript || uninstall)
      ? [scriptEdit(hook_script, agent, mesh)]
      : []),
    ...await agent.setup.edits(env, plan),
  ];
  learnPrograms(edits);
  return edits;
}

function statusLineScriptPath({ id }: SetupAgent, env: Env): string {
  return `${statePath(env)}/hooks/${id}.status-line`;
}

/** The path of an agent's hook script; undefined if its hooks are not commands. */
function hookScriptPath({ id, hooks }: SetupAgent, env: Env): string | undefined {
  return hooks && `${statePath(env)}/hooks/${id}`;
}

/** Maximum time of bash to try a connection. */
const BASH_MS_MAX = 5_000;

/** The answers for each bash: setup and the doctor ask for every agent, and more than once. */
const connecting = new Map<string, Promise<boolean>>();

/** True if the bash on the PATH can open a connection, which some systems leave out. */
async function runsHookScripts(env: Env): Promise<boolean> {
  const [bash] = programsOnPath("bash", env);
  return bash !== undefined && await connecting.getOrInsertComputed(bash, canConnect);
}

async function canConnect(bash: string): Promise<boolean> {
  const argv = [bash, "-p", "-c", "exec 3<>/dev/tcp/127.0.0.1/9"];
  const options = { env: { LC_ALL: "C" }, clock: systemClock, timeout_ms: BASH_MS_MAX };
  return !(await runProgram(argv, options)).stderr.includes("No such file or directory");
}

interface EditResult {
  readonly file: FileResult;
  readonly difference: string;
}

function tryPlan(edit: Edit, undo: boolean): EditResult {
  return orRefusal(edit, () => {
    const { difference, refusal } = planEdit(edit, undo);
    const { path } = edit;
    if (refusal === undefined) {
      return {
        file: { path, outcome: difference === "" ? "unchanged" : "would_change" },
        difference,
      };
    }
    // The user may add these lines to the source that the file is generated from.
    return { file: { path, outcome: "refused", error: refusal, difference }, difference: "" };
  });
}

/** Applies all edits. The state directory, which gets a script, is the user's alone. */
function applyAll(edits: readonly Edit[], undo: boolean, env: Env): EditResult[] {
  const state = statePath(env);
  if (!undo && edits.some(({ path }) => path.startsWith(`${state}/`))) makeDirectory(state);
  return edits.map((edit) => tryApply(edit, undo));
}

function tryApply(edit: Edit, undo: boolean): EditResult {
  return orRefusal(edit, () => {
    const difference = applyEdit(edit, { undo });
    const outcome = difference === "" ? "unchanged" : "changed";
    return { file: { path: edit.path, outcome }, difference };
  });
}

function orRefusal({ path }: Edit, work: () => EditResult): EditResult {
  try {
    return work();
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return { file: { path, outcome: "refused", error: refusal }, difference: "" };
  }
}

function leaveOut({ file, difference }: EditResult): EditResult {
  if (file.outcome !== "would_change") return { file, difference };
  return { file: { ...file, outcome: "left" }, difference: "" };
}
