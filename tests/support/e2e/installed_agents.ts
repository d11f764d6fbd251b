/** The real agents: the tested releases, installed when they are missing. */

import { join } from "node:path";
import { run } from "./programs.ts";
import { print } from "../waiting.ts";

export interface Release {
  /** The name of the npm package. */
  readonly name: string;
  readonly version: string;
  readonly program: string;
  readonly folder: string;
}

/** Other releases than the tested ones: `MESH_AGENT_VERSIONS=codex=0.171.0,claude-code=2.1.332`. */
const OTHER_VERSIONS = new Map(
  (Deno.env.get("MESH_AGENT_VERSIONS") ?? "").split(",")
    .map((pair): [string, string] => [pair.split("=")[0] ?? "", pair.split("=")[1] ?? ""]),
);

function release(tested: Release): Release {
  return { ...tested, version: OTHER_VERSIONS.get(tested.folder) || tested.version };
}

export const CLAUDE_CODE = release({
  name: "@anthropic-ai/claude-code",
  version: "2.1.329",
  program: "claude",
  folder: "claude-code",
});
export const CODEX = release({
  name: "@openai/codex",
  version: "0.171.0",
  program: "codex",
  folder: "codex",
});
export const COPILOT_COMMAND = release({
  name: "@github/copilot",
  version: "1.0.102",
  program: "copilot",
  folder: "copilot",
});
export const GEMINI_COMMAND = release({
  name: "@google/gemini-cli",
  version: "0.61.0",
  program: "gemini",
  folder: "gemini",
});
export const OPENCODE = release({
  name: "opencode-ai",
  version: "1.18.33",
  program: "opencode",
  folder: "opencode",
});

export const RELEASES: readonly Release[] = [
  CLAUDE_CODE,
  CODEX,
  COPILOT_COMMAND,
  GEMINI_COMMAND,
  OPENCODE,
];

const QWEN_CODE: Release = {
  name: "@qwen-code/qwen-code",
  version: "0.15.10",
  program: "qwen",
  folder: "qwen",
};

/** Adapters, which start the agent that their package brings along. */
const CLAUDE_AGENT_ACP: Release = {
  name: "@agentclientprotocol/claude-agent-acp",
  version: "0.101.0",
  program: "claude-agent-acp",
  folder: "claude-agent-acp",
};
const CODEX_ACP: Release = {
  name: "@agentclientprotocol/codex-acp",
  version: "2.6.0",
  program: "codex-acp",
  folder: "codex-acp",
};

/** A program, or the reason why it is missing. */
export type InstallResult = { bin: string } | { reason: string };

export const claudeCode = (): InstallResult => installRelease(CLAUDE_CODE);
export const codexCli = (): InstallResult => installRelease(CODEX);
export const copilotCli = (): InstallResult => installRelease(COPILOT_COMMAND);
export const geminiCli = (): InstallResult => installRelease(GEMINI_COMMAND);
export const opencodeCli = (): InstallResult => installRelease(OPENCODE);
export const qwenCode = (): InstallResult => installRelease(QWEN_CODE);
export const claudeAgentAcp = (): InstallResult => installRelease(CLAUDE_AGENT_ACP);
export const codexAcp = (): InstallResult => installRelease(CODEX_ACP);

/** The path of an agent's program; throws if it cannot be installed. */
export function binOf(agent: () => InstallResult): string {
  const found = agent();
  if ("reason" in found) throw new Error(found.reason);
  return found.bin;
}

/** The folder in which Copilot CLI unpacks itself once, for all homes that share it. */
export function copilotUnpacked(): string {
  const dir = join(dirOf(COPILOT_COMMAND), "cache");
  Deno.mkdirSync(dir, { recursive: true });
  return dir;
}

/** A directory for one test. Codex refuses to keep its helpers in a temporary one. */
export function makeRunDir(): string {
  Deno.mkdirSync(cacheDir(), { recursive: true, mode: 0o700 });
  return Deno.makeTempDirSync({ dir: cacheDir(), prefix: "run-" });
}

/** The folder of agents between runs, so that they are downloaded once. */
function cacheDir(): string {
  const cache = Deno.env.get("XDG_CACHE_HOME") || join(Deno.env.get("HOME") ?? "/", ".cache");
  return join(cache, "mesh-agents");
}

function dirOf({ folder, version }: Release): string {
  return join(cacheDir(), `${folder}-${version}`);
}

/** An npm package, installed when it is missing; or the reason why it cannot be. */
export function installRelease(release: Release): InstallResult {
  const { name, version, program } = release;
  const dir = dirOf(release);
  const bin = join(dir, "node_modules", ".bin", program);
  if (isProven(release, bin)) return { bin };
  Deno.mkdirSync(dir, { recursive: true });
  // Tests in other processes wait here: two at once would install over each other.
  using lock = Deno.openSync(join(dir, "install.lock"), { create: true, write: true });
  lock.lockSync(true);
  if (isProven(release, bin) || prove(release, bin)) return { bin };
  print(`Installing ${name}@${version} into ${dir}`);
  run("npm", ["install", "--prefix", dir, "--no-audit", "--no-fund", `${name}@${version}`]);
  if (prove(release, bin)) return { bin };
  return { reason: `${name}@${version} cannot be installed with npm` };
}

/** The record of each file that has printed its version: to ask takes up to 5 s. */
const proofOf = (release: Release) => join(dirOf(release), "proven");

/** True if the present file has printed the right version before. */
function isProven(release: Release, bin: string): boolean {
  try {
    return Deno.readTextFileSync(proofOf(release)) === stampOf(bin);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function prove(release: Release, bin: string): boolean {
  if (!run(bin, ["--version"]).includes(release.version)) return false;
  Deno.writeTextFileSync(proofOf(release), stampOf(bin));
  return true;
}

/** Changes when a program is installed again. */
function stampOf(bin: string): string {
  const path = Deno.realPathSync(bin);
  const { size, mtime } = Deno.statSync(path);
  return JSON.stringify({ path, size, mtime });
}
