/** Each coding agent that is installed: its version, and whether it knows a mesh that exists. */

import { isAbsolute, join } from "node:path";
import { tryJson } from "kit/text.ts";
import { VERDICTS_FILE, verdictsIn } from "../../daemon/agents/selftest/contract.ts";
import { type Env, statePath } from "../../daemon/places.ts";
import { type Check, error, type Found, note, ok, warning } from "./finding.ts";
import { atHome, isProgram, type Machine, versionIn } from "./machine.ts";

/** One kind of agent, and where it is told of us. */
interface Agent {
  readonly name: string;
  readonly title: string;
  readonly program: string;
  /** The line of versions that mesh was tried with (docs/adapters.md). */
  readonly proved: string;
  /** Where hooks are written; undefined for one whose hooks are none of commands. */
  readonly hooks: ((env: Env) => string) | undefined;
  readonly mcp: (env: Env) => string;
}

const claudeHome = (env: Env) => env["CLAUDE_CONFIG_DIR"] || atHome(env, ".claude");
const codexHome = (env: Env) => env["CODEX_HOME"] || atHome(env, ".codex");
const copilotHome = (env: Env) => env["COPILOT_HOME"] || atHome(env, ".copilot");
const xdg = (env: Env) => env["XDG_CONFIG_HOME"] || atHome(env, ".config");

const AGENTS: readonly Agent[] = [
  {
    ...{ name: "claude-code", title: "Claude Code", program: "claude", proved: "2.1" },
    hooks: (env) => join(claudeHome(env), "settings.json"),
    mcp: (env) => join(env["CLAUDE_CONFIG_DIR"] || atHome(env), ".claude.json"),
  },
  {
    ...{ name: "codex", title: "Codex", program: "codex", proved: "0.169" },
    hooks: (env) => join(codexHome(env), "hooks.json"),
    mcp: (env) => join(codexHome(env), "config.toml"),
  },
  {
    ...{ name: "gemini", title: "Gemini", program: "gemini", proved: "0.61" },
    hooks: (env) => atHome(env, ".gemini", "settings.json"),
    mcp: (env) => atHome(env, ".gemini", "settings.json"),
  },
  {
    ...{ name: "opencode", title: "OpenCode", program: "opencode", proved: "1.18" },
    hooks: undefined,
    mcp: (env) => join(xdg(env), "opencode", "opencode.json"),
  },
  {
    ...{ name: "copilot", title: "Copilot", program: "copilot", proved: "1.0" },
    hooks: (env) => join(copilotHome(env), "settings.json"),
    mcp: (env) => join(copilotHome(env), "mcp-config.json"),
  },
];

export const AGENT_CHECK: Check = {
  area: "agents",
  async look(machine) {
    const found = await Promise.all(AGENTS.map((agent) => lookAt(agent, machine)));
    if (found.flat().length > 0) return found.flat();
    const names = AGENTS.map(({ program }) => program).join(", ");
    return [note("AGENTS_NONE", `none of ${names} is on the PATH`)];
  },
};

async function lookAt(agent: Agent, machine: Machine): Promise<Found[]> {
  const path = machine.find(agent.program);
  const { hooks, mcp } = placesOf(agent, machine);
  if (path === undefined && hooks.length === 0 && !mcp) return [];
  return [
    path === undefined
      ? note("AGENT_GONE", `${agent.title} is set up, but \`${agent.program}\` is not on the PATH`)
      : await versionOf(agent, machine, path),
    ...setUp(agent, { hooks: hooks.length > 0, mcp: mcp !== undefined }),
    ...tested(agent, machine),
    ...programs(agent, machine, [...hooks, ...(mcp ? [mcp] : [])]),
  ];
}

async function versionOf(
  { title, program, proved }: Agent,
  machine: Machine,
  path: string,
): Promise<Found> {
  const ran = await machine.run(path, ["--version"]);
  const version = versionIn(ran?.success ? ran.said : "");
  if (version === undefined) {
    return warning(
      "AGENT_SILENT",
      `${path} does not tell its version`,
      `try: ${program} --version`,
    );
  }
  const said = `${title} ${version}, ${path}`;
  if (`${version}.`.startsWith(`${proved}.`)) return ok("AGENT_FOUND", said);
  const detail = `${said}: mesh was tried with ${proved}, and falls back where it finds another`;
  return note("AGENT_UNPROVED", detail);
}

/** What `mesh selftest` found of its rungs. */
function tested({ name, title }: Agent, machine: Machine): Found[] {
  const text = machine.text(join(statePath(machine.env), VERDICTS_FILE)) ?? "";
  const agents = Object.entries(verdictsIn(text)?.agents ?? {});
  const found = agents.find(([agent]) => agent === name)?.[1];
  if (!found) return [];
  const rungs = Object.entries(found.rungs);
  const failed = rungs.filter(([, { degraded }]) => degraded);
  const with_which = `with ${found.version}`;
  if (failed.length === 0) {
    return [ok("RUNGS_TESTED", `${title}: ${rungs.map(([rung]) => rung)} passed ${with_which}`)];
  }
  return failed.map(([rung, { why }]) => {
    const detail = `${title}: the rung "${rung}" failed its test ${with_which}: ${why}`;
    return warning("RUNG_DEGRADED", detail, `mesh selftest --agent ${name}`);
  });
}

function setUp({ name, title, hooks }: Agent, has: { hooks: boolean; mcp: boolean }): Found[] {
  const missing = [
    ...(has.hooks || !hooks ? [] : ["hooks"]),
    ...(has.mcp ? [] : ["MCP entry"]),
  ];
  if (missing.length === 0) return [ok("AGENT_SET_UP", `${title} knows of mesh`)];
  const fix = `mesh setup --agent ${name}`;
  return [note("AGENT_NOT_SET_UP", `${title} has no ${missing.join(" and no ")} of mesh`, fix)];
}

/** A command that an agent was given: the words of a shell line, or of a list. */
type Words = readonly string[];

function placesOf({ hooks, mcp }: Agent, machine: Machine): { hooks: Words[]; mcp?: Words } {
  const { env } = machine;
  const text = hooks ? machine.text(hooks(env)) ?? "" : "";
  const server = serverIn(machine.text(mcp(env)) ?? "");
  return { hooks: hooksIn(tryJson(text)), ...(server && { mcp: server }) };
}

/** Every text in a tree that reads as `… hook <agent> [<event>]`, cut into its words. */
function hooksIn(value: unknown): Words[] {
  if (typeof value === "string") {
    return / hook (claude-code|codex|gemini|opencode|copilot)\b/.test(value) ? [split(value)] : [];
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(hooksIn);
}

/** The entry called `mesh`, from JSON (`mcpServers` or `mcp`) or from TOML (`mcp_servers`). */
function serverIn(text: string): Words | undefined {
  const json = tryJson(text);
  for (const key of ["mcpServers", "mcp"]) {
    const entry = memberOf(memberOf(json, key), "mesh");
    if (entry === undefined) continue;
    const words = [memberOf(entry, "command"), memberOf(entry, "args")].flat();
    return words.filter((word) => typeof word === "string");
  }
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^\s*\[mcp_servers\.("mesh"|mesh)\]/.test(line));
  if (start < 0) return undefined;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => /^\[/.test(line));
  const section = rest.slice(0, end < 0 ? undefined : end).join("\n");
  const values = section.matchAll(
    /^[ \t]*(?:command|args)[ \t]*=\s*("(?:[^"\\]|\\.)*"?|'[^']*'?|\[[^\]]*\]?)/gm,
  );
  return [...values].flatMap(([, value = ""]) => [tryJson(jsonOf(value))].flat())
    .filter((word) => typeof word === "string");
}

/** A TOML text or list of texts, as JSON writes it. */
function jsonOf(toml: string): string {
  return toml.replaceAll(/'([^']*)'/g, (_, text) => JSON.stringify(text))
    .replace(/,\s*\]$/, "]");
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}

/**
 * As `sh` would, of what `mesh setup` writes: plain words, and words in single quotes, without
 * the variables that are set before them.
 */
function split(line: string): string[] {
  const words = [...line.matchAll(/(?:'[^']*'|\\.|[^\s'\\])+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|\\(.)/g, "$1$2")
  );
  const first = words.findIndex((word) => !/^[A-Z_]+=/.test(word));
  return first < 0 ? [] : words.slice(first);
}

/** What a package manager may throw away at any time. */
const CACHE = /\/(_npx|_cacache|\.npm|\.cache|[Cc]aches|pnpm\/dlx|deno\/npm)\//;

/** A program that is gone fails at every prompt; one in a cache will be gone some day. */
function programs(agent: Agent, machine: Machine, commands: readonly Words[]): Found[] {
  const fix = `mesh setup --agent ${agent.name}`;
  const files = new Set(
    commands.flatMap((words) =>
      words.filter((word, at) => at === 0 || isAbsolute(word) && /\.[cm]?[jt]s$/.test(word))
    ),
  );
  return [...files].flatMap((file): Found[] => {
    const info = isAbsolute(file) ? machine.stat(file) : machine.stat(machine.find(file) ?? file);
    const runs = /\.[cm]?[jt]s$/.test(file) ? info?.isFile : isProgram(info);
    if (!runs) {
      const detail = `${agent.title} is to run ${file}, which is not there`;
      return [error("AGENT_PROGRAM_GONE", detail, fix)];
    }
    if (!CACHE.test(file)) return [];
    const detail = `${agent.title} is to run ${file}, in a package cache that may be emptied`;
    return [warning("AGENT_PROGRAM_CACHED", detail, `install mesh for good, then: ${fix}`)];
  });
}
