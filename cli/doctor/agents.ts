/** Each coding agent that is installed: its version, and whether it knows a mesh that exists. */

import { isAbsolute, join } from "node:path";
import { tryJson } from "kit/core/text.ts";
import type { AgentDefinition } from "../../daemon/features/agents/definition.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";
import { VERDICTS_FILE, verdictsIn } from "../../daemon/features/agents/selftest/contract.ts";
import { lineOf } from "../../daemon/features/agents/versions.ts";
import { statePath } from "../../daemon/host/paths.ts";
import { type Check, error, type Found, note, ok, warning } from "./finding.ts";
import { isProgram, type Machine, versionIn } from "./machine.ts";

/** The agents that `mesh setup` sets up. */
const KNOWN = AGENTS.flatMap((agent) => agent.setup ? [{ ...agent, setup: agent.setup }] : []);
type Agent = typeof KNOWN[number];

const programOf = ({ programs, id }: AgentDefinition) => programs[0] ?? id;

export const AGENT_CHECK: Check = {
  area: "agents",
  async look(machine) {
    const found = await Promise.all(KNOWN.map((agent) => lookAt(agent, machine)));
    if (found.flat().length > 0) return found.flat();
    const names = KNOWN.map(programOf).join(", ");
    return [note("AGENTS_NONE", `none of ${names} is on the PATH`)];
  },
};

async function lookAt(agent: Agent, machine: Machine): Promise<Found[]> {
  const path = machine.find(programOf(agent));
  const { hooks, mcp } = placesOf(agent, machine);
  if (path === undefined && hooks.length === 0 && !mcp) return [];
  return [
    path === undefined
      ? note(
        "AGENT_GONE",
        `${agent.title} is set up, but \`${programOf(agent)}\` is not on the PATH`,
      )
      : await versionOf(agent, machine, path),
    ...setUp(agent, { hooks: hooks.length > 0, mcp: mcp !== undefined }),
    ...tested(agent, machine),
    ...programs(agent, machine, [...hooks, ...(mcp ? [mcp] : [])]),
  ];
}

async function versionOf(agent: Agent, machine: Machine, path: string): Promise<Found> {
  const ran = await machine.run(path, ["--version"]);
  const version = versionIn(ran?.success ? ran.said : "");
  if (version === undefined) {
    return warning(
      "AGENT_SILENT",
      `${path} does not tell its version`,
      `try: ${programOf(agent)} --version`,
    );
  }
  const said = `${agent.title} ${version}, ${path}`;
  const line = lineOf(agent.tested_version ?? version);
  if (`${version}.`.startsWith(`${line}.`)) return ok("AGENT_FOUND", said);
  const detail = `${said}: mesh was tried with ${line}, and falls back where it finds another`;
  return note("AGENT_UNPROVED", detail);
}

/** What `mesh selftest` found of its rungs. */
function tested({ id, title }: Agent, machine: Machine): Found[] {
  const text = machine.text(join(statePath(machine.env), VERDICTS_FILE)) ?? "";
  const agents = Object.entries(verdictsIn(text)?.agents ?? {});
  const found = agents.find(([agent]) => agent === id)?.[1];
  if (!found) return [];
  const rungs = Object.entries(found.rungs);
  const failed = rungs.filter(([, { degraded }]) => degraded);
  const with_which = `with ${found.version}`;
  if (failed.length === 0) {
    return [ok("RUNGS_TESTED", `${title}: ${rungs.map(([rung]) => rung)} passed ${with_which}`)];
  }
  return failed.map(([rung, { why }]) => {
    const detail = `${title}: the rung "${rung}" failed its test ${with_which}: ${why}`;
    return warning("RUNG_DEGRADED", detail, `mesh selftest --agent ${id}`);
  });
}

function setUp({ id, title, setup }: Agent, has: { hooks: boolean; mcp: boolean }): Found[] {
  const missing = [
    ...(has.hooks || !setup.hooks_file ? [] : ["hooks"]),
    ...(has.mcp ? [] : ["MCP entry"]),
  ];
  if (missing.length === 0) return [ok("AGENT_SET_UP", `${title} knows of mesh`)];
  const fix = `mesh setup --agent ${id}`;
  return [note("AGENT_NOT_SET_UP", `${title} has no ${missing.join(" and no ")} of mesh`, fix)];
}

/** A command that an agent was given: the words of a shell line, or of a list. */
type Words = readonly string[];

function placesOf({ setup }: Agent, machine: Machine): { hooks: Words[]; mcp?: Words } {
  const { env } = machine;
  const text = setup.hooks_file ? machine.text(setup.hooks_file(env)) ?? "" : "";
  const [server] = setup.server_files(env).flatMap((path) => {
    const found = serverIn(machine.text(path) ?? "");
    return found ? [found] : [];
  });
  return { hooks: hooksIn(tryJson(text)), ...(server && { mcp: server }) };
}

/** Every text in a tree that reads as `… hook <agent> [<event>]`, cut into its words. */
function hooksIn(value: unknown): Words[] {
  if (typeof value === "string") {
    const agent = / hook ([a-z-]+)/.exec(value)?.[1];
    return KNOWN.some(({ id }) => id === agent) ? [split(value)] : [];
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
  const fix = `mesh setup --agent ${agent.id}`;
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
