/** The doctor's check of each coding agent: its version, setup and self-test results. */

import { isAbsolute, join } from "kit/core/path.ts";
import { tryJson } from "kit/core/text.ts";
import { type AgentDefinition, lineOf } from "../../daemon/features/agents/definition.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";
import { parseVerdicts, VERDICTS_FILE } from "../../daemon/features/agents/selftest/contract.ts";
import { statePath } from "../../daemon/host/paths.ts";
import { isInPackageCache } from "../client/program.ts";
import { type Check, type CheckResult } from "./finding.ts";
import { isProgram, type Machine, parseVersion } from "./machine.ts";

/** The agents that `mesh setup` sets up. */
const SUPPORTED_AGENTS = AGENTS.flatMap((agent) =>
  agent.setup ? [{ ...agent, setup: agent.setup }] : []
);
type Agent = typeof SUPPORTED_AGENTS[number];

const programName = ({ programs, id }: AgentDefinition) => programs[0] ?? id;

export const AGENT_CHECK: Check = {
  area: "agents",
  async run(machine) {
    const found = await Promise.all(SUPPORTED_AGENTS.map((agent) => checkAgent(agent, machine)));
    if (found.flat().length > 0) return found.flat();
    const names = SUPPORTED_AGENTS.map(programName).join(", ");
    return [["note", "AGENTS_NONE", `none of ${names} is on the PATH`]];
  },
};

async function checkAgent(agent: Agent, machine: Machine): Promise<CheckResult[]> {
  const path = machine.find(programName(agent));
  const { hooks, mcp } = await configuredCommands(agent, machine);
  if (path === undefined && hooks.length === 0 && !mcp) return [];
  return [
    path === undefined
      ? [
        "note",
        "AGENT_GONE",
        `${agent.title} is set up, but \`${programName(agent)}\` is not on the PATH`,
      ]
      : await versionFinding(agent, machine, path),
    ...setupFindings(agent, { hooks: hooks.length > 0, mcp: mcp !== undefined }),
    ...selftestFindings(agent, machine),
    ...programFindings(agent, machine, [...hooks, ...(mcp ? [mcp] : [])]),
  ];
}

async function versionFinding(agent: Agent, machine: Machine, path: string): Promise<CheckResult> {
  const result = await machine.run(path, ["--version"]);
  const version = parseVersion(result?.success ? result.output : "");
  if (version === undefined) {
    return [
      "warning",
      "AGENT_SILENT",
      `${path} does not print its version`,
      `run ${programName(agent)} --version`,
    ];
  }
  const label = `${agent.title} ${version}, ${path}`;
  const line = lineOf(agent.tested_version ?? version);
  if (`${version}.`.startsWith(`${line}.`)) return ["ok", "AGENT_FOUND", label];
  const detail = `${label}: mesh was tested with ${line}, and uses fallbacks where versions differ`;
  return ["note", "AGENT_UNPROVED", detail];
}

/** The results of `mesh selftest` for the agent's transports. */
function selftestFindings({ id, title }: Agent, machine: Machine): CheckResult[] {
  const text = machine.text(join(statePath(machine.env), VERDICTS_FILE)) ?? "";
  const agents = Object.entries(parseVerdicts(text)?.agents ?? {});
  const found = agents.find(([agent]) => agent === id)?.[1];
  if (!found) return [];
  const transports = Object.entries(found.transports);
  const failed = transports.filter(([, { degraded }]) => degraded);
  const versionNote = `with ${found.version}`;
  if (failed.length === 0) {
    return [
      [
        "ok",
        "TRANSPORTS_TESTED",
        `${title}: ${transports.map(([name]) => name).join(", ")} passed ${versionNote}`,
      ],
    ];
  }
  return failed.map(([transport, { why }]) => {
    const detail =
      `${title}: the transport "${transport}" failed its self-test ${versionNote}: ${why}`;
    return ["warning", "TRANSPORT_DEGRADED", detail, `mesh selftest --agent ${id}`];
  });
}

function setupFindings(
  { id, title, setup }: Agent,
  has: { hooks: boolean; mcp: boolean },
): CheckResult[] {
  const missing = [
    ...(has.hooks || !setup.hooks_file ? [] : ["hooks"]),
    ...(has.mcp ? [] : ["MCP entry"]),
  ];
  if (missing.length === 0) return [["ok", "AGENT_SET_UP", `${title} is set up for mesh`]];
  const fix = `mesh setup --agent ${id}`;
  return [
    [
      "note",
      "AGENT_NOT_SET_UP",
      `${title} is not fully set up: no ${missing.join(" and no ")} for mesh`,
      fix,
    ],
  ];
}

/** A command in an agent's configuration, split into arguments. */
type Argv = readonly string[];

async function configuredCommands({ setup }: Agent, machine: Machine) {
  const { env } = machine;
  const text = setup.hooks_file ? machine.text(setup.hooks_file(env)) ?? "" : "";
  const files = setup.server_files(env).map((path) => mcpCommand(machine.text(path) ?? ""));
  const mcp = (await Promise.all(files)).find((found) => found !== undefined);
  return { hooks: hookCommands(tryJson(text)), mcp };
}

/** Every command `… hook <agent> [<event>]` in a JSON tree, split into arguments. */
function hookCommands(value: unknown): Argv[] {
  if (typeof value === "string") {
    const agent = / hook ([a-z-]+)/.exec(value)?.[1];
    return SUPPORTED_AGENTS.some(({ id }) => id === agent) ? [splitCommand(value)] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(hookCommands);
}

/** The command of the MCP server `mesh` in an agent's configuration, which is JSON or TOML. */
async function mcpCommand(text: string): Promise<Argv | undefined> {
  const config = tryJson(text) ?? await tryToml(text);
  for (const key of ["mcpServers", "mcp", "mcp_servers"]) {
    const entry = getMember(getMember(config, key), "mesh");
    if (entry === undefined) continue;
    const argv = [getMember(entry, "command"), getMember(entry, "args")].flat();
    return argv.filter((arg) => typeof arg === "string");
  }
  return undefined;
}

/** A damaged file counts as one without a server: its agent cannot read it either. */
async function tryToml(text: string): Promise<unknown> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof TomlError) return undefined;
    throw error;
  }
}

function getMember(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Reflect.get(value, key);
}

/**
 * Splits a command line that `mesh setup` wrote into its words, as `sh` would do. Drops the test for
 * a marker and leading variable assignments.
 */
function splitCommand(line: string): string[] {
  const argv = [...line.matchAll(/(?:'[^']*'|\\.|[^\s'\\])+/g)].map(([arg]) =>
    arg.replaceAll(/'([^']*)'|\\(.)/g, "$1$2")
  );
  const command = argv.slice(argv.indexOf("||") + 1);
  const first = command.findIndex((arg) => !/^[A-Z_]+=/.test(arg));
  return first < 0 ? [] : command.slice(first);
}

/**
 * Reports programs that are missing, because their hooks fail at every prompt. Also reports
 * programs in a package cache, because they may be deleted later.
 */
function programFindings(agent: Agent, machine: Machine, commands: readonly Argv[]): CheckResult[] {
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
    return [
      ["warning", "AGENT_PROGRAM_CACHED", detail, `install mesh permanently, then run ${fix}`],
    ];
  });
}
