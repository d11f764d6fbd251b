/** The doctor's check of each coding agent: its version, setup and self-test results. */

import { isAbsolute, join } from "kit/core/path.ts";
import {
  type AgentDefinition,
  isTestedPatchOrLater,
  lineOf,
} from "../../daemon/features/agents/definition.ts";
import { findMesh, type MeshPart, planEdit } from "../../daemon/features/agents/install.ts";
import { parseVerdicts, VERDICTS_FILE } from "protocol/agents/selftest.ts";
import { InvalidPath, statePath } from "../../daemon/host/paths.ts";
import { refusalOf } from "../../daemon/features/agents/settings_files/json.ts";
import type { Argv } from "../../daemon/features/agents/settings_files/shell_words.ts";
import {
  formatSwitch,
  scopeReader,
  type SwitchedOff,
} from "../../daemon/features/agents/settings_files/switched_off.ts";
import { isInPackageCache, meshCommand } from "../client/program.ts";
import { editsOf, SETUP_AGENTS, type SetupAgent } from "../setup/agents.ts";
import { type Check, type CheckResult } from "./finding.ts";
import { isProgram, type Machine, parseVersion } from "./machine.ts";

const programName = ({ programs, id }: AgentDefinition) => programs[0] ?? id;

export const AGENT_CHECK: Check = {
  area: "agents",
  async run(machine) {
    const found = await Promise.all(SETUP_AGENTS.map((agent) => checkAgent(agent, machine)))
      .catch((error): CheckResult[][] => {
        if (!(error instanceof InvalidPath)) throw error;
        // Without a home, the agents' settings cannot be located.
        const detail = `${error.message}, so no agent's settings are found`;
        return [[["note", "AGENTS_UNKNOWN", detail, error.hint]]];
      });
    if (found.flat().length > 0) return found.flat();
    const names = SETUP_AGENTS.map(programName).join(", ");
    return [["note", "AGENTS_NONE", `none of ${names} is on the PATH`]];
  },
};

/** Exported for tests of one agent. */
export async function checkAgent(agent: SetupAgent, machine: Machine): Promise<CheckResult[]> {
  const path = machine.find(programName(agent));
  const setup = await setupState(agent, machine);
  const commands = [...setup.hooks, ...setup.servers];
  if (path === undefined && commands.length === 0) return refusalFindings(agent, setup);
  const gone = `${agent.title} is set up, but \`${programName(agent)}\` is not on the PATH`;
  return [
    path ? await versionFinding(agent, machine, path) : ["note", "AGENT_GONE", gone],
    ...setupFindings(agent, setup),
    ...switchFindings(agent, await agent.setup.switchedOff(machine.env, scopeReader())),
    ...selftestFindings(agent, machine),
    ...programFindings(agent, machine, commands),
  ];
}

async function versionFinding(
  agent: SetupAgent,
  machine: Machine,
  path: string,
): Promise<CheckResult> {
  const result = await machine.run(path, ["--version"]);
  const version = parseVersion(result?.success ? result.output : "");
  if (version === undefined) {
    const fix = `run ${programName(agent)} --version`;
    return ["warning", "AGENT_SILENT", `${path} does not print its version`, fix];
  }
  const label = `${agent.title} ${version}, ${path}`;
  const tested = agent.tested_version ?? version;
  if (isTestedPatchOrLater(version, tested)) return ["ok", "AGENT_FOUND", label];
  const { untested_transport: instead, transports: [best] } = agent;
  if (instead) {
    const detail = `${label}: mesh uses its transport "${best}" from ${tested} on, in ` +
      `${lineOf(tested)} only; messages go by "${instead}" instead`;
    return ["note", "AGENT_UNPROVED", detail];
  }
  if (`${version}.`.startsWith(`${lineOf(tested)}.`)) return ["ok", "AGENT_FOUND", label];
  const fix = `mesh selftest --agent ${agent.id}`;
  return ["note", "AGENT_UNPROVED", `${label}: mesh was tested with ${tested}`, fix];
}

/** The results of `mesh selftest` for the agent's transports. */
function selftestFindings({ id, title, ...agent }: SetupAgent, machine: Machine): CheckResult[] {
  const text = machine.text(join(statePath(machine.env), VERDICTS_FILE)) ?? "";
  const agents = Object.entries(parseVerdicts(text)?.agents ?? {});
  const found = agents.find(([agent]) => agent === id)?.[1];
  if (!found) return [];
  const transports = Object.entries(found.transports);
  const failed = transports.filter(([, { degraded }]) => degraded);
  const versionNote = `with ${found.version}`;
  if (failed.length === 0) {
    const names = transports.map(([name]) => name).join(", ");
    return [["ok", "TRANSPORTS_TESTED", `${title}: ${names} passed ${versionNote}`]];
  }
  const isDegraded = (transport: string) => failed.some(([name]) => name === transport);
  const instead = agent.transports.find((transport) => !isDegraded(transport));
  const note = instead === undefined ? "nothing else reaches it" : `"${instead}" is used instead`;
  return failed.map(([transport, { why }]) => {
    const detail =
      `${title}: the transport "${transport}" failed its self-test ${versionNote}: ${why}; ${note}`;
    return ["warning", "TRANSPORT_DEGRADED", detail, `mesh selftest --agent ${id}`];
  });
}

/** Our part in an agent's files, and the changes that setup would make. */
interface SetupState extends MeshPart {
  /** Files that setup would change although they already start our program. */
  readonly outdated: readonly string[];
  /** Reasons why setup could not read or change a file, with what to do. */
  readonly refusals: readonly string[];
}

/**
 * Reads the files through setup. The doctor may belong to another installation than the mesh that
 * the agent calls, so if the files name exactly one command, that command is used.
 */
async function setupState(agent: SetupAgent, { env }: Machine): Promise<SetupState> {
  const refusals: string[] = [];
  const orRefusal = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal === undefined) throw error;
      if (!refusals.includes(refusal)) refusals.push(refusal);
      return undefined;
    }
  };
  const options = { replace: false, uninstall: false };
  const own = meshCommand();
  try {
    const edits = await editsOf(agent, { ...options, mesh: own }, env);
    const parts = edits.flatMap((edit) => orRefusal(() => findMesh(edit)) ?? []);
    const hooks = parts.flatMap((part) => part.hooks);
    const servers = parts.flatMap((part) => part.servers);
    const called = new Set([...hooks, ...servers].map((command) => JSON.stringify(command)));
    const mesh = called.size === 1 ? hooks[0] ?? servers[0] ?? own : own;
    const outdated = (await editsOf(agent, { ...options, mesh }, env)).filter((edit) => {
      const plan = orRefusal(() => planEdit(edit));
      if (plan?.refusal !== undefined) refusals.push(plan.refusal);
      return plan !== undefined && plan.difference !== "";
    }).map(({ path }) => path);
    return { hooks, servers, outdated, refusals };
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal === undefined) throw error;
    return { hooks: [], servers: [], outdated: [], refusals: [refusal] };
  }
}

function refusalFindings({ id, title }: SetupAgent, { refusals }: SetupState): CheckResult[] {
  const fix = `correct it, then: mesh setup --agent ${id}`;
  return refusals.map((refusal) => {
    const detail = `${title}: mesh setup cannot go on: ${refusal}`;
    return ["warning", "AGENT_FILE_REFUSED", detail, fix];
  });
}

function setupFindings(agent: SetupAgent, state: SetupState): CheckResult[] {
  const { id, title } = agent;
  const { hooks, servers, outdated } = state;
  const fix = `mesh setup --agent ${id}`;
  const refused = refusalFindings(agent, state);
  if (outdated.length === 0) {
    return refused.length > 0 ? refused : [["ok", "AGENT_SET_UP", `${title} is set up for mesh`]];
  }
  const isPart = hooks.length + servers.length > 0;
  const detail = isPart
    ? `${title} is not fully set up: mesh setup would change ${outdated.join(" and ")}`
    : `${title} is not set up: no hooks and no MCP entry for mesh`;
  return [...refused, ["note", "AGENT_NOT_SET_UP", detail, fix]];
}

function switchFindings(agent: SetupAgent, switches: readonly SwitchedOff[]): CheckResult[] {
  return switches.map((found) => {
    const code = found.part === "hooks" ? "AGENT_HOOKS_OFF" : "AGENT_SERVER_OFF";
    return ["warning", code, `${agent.title} ${formatSwitch(found)}`, found.fix];
  });
}

/**
 * Reports programs that are missing, because their hooks fail at every prompt. Also reports
 * programs in a package cache, because they may be deleted later.
 */
function programFindings(
  agent: SetupAgent,
  machine: Machine,
  commands: readonly Argv[],
): CheckResult[] {
  const fix = `mesh setup --agent ${agent.id}`;
  const files = new Set(
    commands.flatMap((argv) =>
      argv.filter((arg, index) => index === 0 || isAbsolute(arg) && /\.[cm]?[jt]s$/.test(arg))
    ),
  );
  return [...files].flatMap((file): CheckResult[] => {
    const info = isAbsolute(file) ? machine.stat(file) : machine.stat(machine.find(file) ?? file);
    const isRunnable = /\.[cm]?[jt]s$/.test(file) ? info?.isFile : isProgram(info);
    if (!isRunnable) {
      const detail = `${agent.title} is set up to run "${file}", which does not exist`;
      return [["error", "AGENT_PROGRAM_GONE", detail, fix]];
    }
    if (!isInPackageCache(file)) return [];
    const detail =
      `${agent.title} is set up to run "${file}", in a package cache that may be emptied`;
    const install = `install mesh permanently, then run ${fix}`;
    return [["warning", "AGENT_PROGRAM_CACHED", detail, install]];
  });
}
