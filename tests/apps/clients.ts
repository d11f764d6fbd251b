/** Foreign OAuth and MCP clients, and how each is installed. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installRelease } from "../support/e2e/installed_agents.ts";
import type { AgentApp } from "./agents.ts";
import type { Command } from "./session.ts";

const PROGRAMS = fileURLToPath(new URL("programs/", import.meta.url));

/** The command of an app, or the reason why it cannot be installed. */
export type InstallResult = Command | { readonly skipped: string };

export interface App {
  readonly name: string;
  /** The packages, pinned: a new release changes nothing in an old commit. */
  readonly packages: readonly string[];
  install(dir: string, packages: readonly string[]): InstallResult;
}

export const APPS: readonly App[] = [
  { name: "Go SDK, x/oauth2", packages: ["go-sdk v1.8.0", "oauth2 v0.38.0"], install: goProgram },
  {
    name: "Authlib",
    packages: ["authlib==1.9.10", "httpx==0.28.1"],
    install: (dir, packages) => pythonProgram("authlib_app.py", dir, packages),
  },
  {
    name: "MCP SDK for Python",
    packages: ["mcp==2.3.0"],
    install: (dir, packages) => pythonProgram("python_sdk_app.py", dir, packages),
  },
  {
    name: "FastMCP",
    packages: ["fastmcp==4.2.3"],
    install: (dir, packages) => pythonProgram("fastmcp_app.py", dir, packages),
  },
  { name: "mcp-remote", packages: ["mcp-remote@0.15.1"], install: mcpRemote },
];

/** An agent, which stays installed for the next run. */
export function agentApp({ title, release }: AgentApp): App {
  const { name, version } = release;
  const args = ["run", "-A", "--no-check", "--quiet", `${PROGRAMS}agent_app.ts`, title];
  return {
    name: title,
    packages: [`${name.slice(name.indexOf("/") + 1)}@${version}`],
    install() {
      const found = installRelease(release);
      return "reason" in found ? { skipped: found.reason } : { program: Deno.execPath(), args };
    },
  };
}

/** The versions are those of `go.mod`. */
function goProgram(dir: string): InstallResult {
  Deno.mkdirSync(dir, { recursive: true });
  const failed = failureOf("go", ["build", "-o", join(dir, "app"), "."], `${PROGRAMS}go`);
  return failed === undefined ? { program: join(dir, "app"), args: [] } : { skipped: failed };
}

function pythonProgram(script: string, dir: string, packages: readonly string[]): InstallResult {
  const made = failureOf("python3", ["-m", "venv", dir]);
  if (made !== undefined) return { skipped: made };
  const python = join(dir, "bin/python");
  const quiet = ["--quiet", "--no-cache-dir", "--disable-pip-version-check"];
  const failed = failureOf(python, ["-m", "pip", "install", ...quiet, ...packages]);
  if (failed !== undefined) return { skipped: failed };
  return { program: python, args: [`${PROGRAMS}${script}`], env: { HOME: dir } };
}

function mcpRemote(dir: string, packages: readonly string[]): InstallResult {
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
  const failed = failureOf("npm", ["install", "--prefix", dir, ...quiet, ...packages]);
  if (failed !== undefined) return { skipped: failed };
  const program = join(dir, "node_modules/.bin/mcp-remote");
  const args = ["run", "-A", "--no-check", `${PROGRAMS}mcp_remote_app.ts`];
  return { program: Deno.execPath(), args, env: { HOME: dir, MCP_REMOTE: program } };
}

/** Runs a program. Returns the last line of what went wrong; undefined if nothing did. */
function failureOf(program: string, args: readonly string[], cwd?: string): string | undefined {
  try {
    const { success, stderr } = new Deno.Command(program, {
      args: [...args],
      ...(cwd !== undefined && { cwd }),
    }).outputSync();
    if (success) return undefined;
    return new TextDecoder().decode(stderr).trim().split("\n").at(-1) ?? "it failed";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `there is no ${program}`;
    throw error;
  }
}
