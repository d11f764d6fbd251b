/** Adds, finds and removes our entries in Gemini CLI's settings. Finds what switches them off. */

import { MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { jsonEdit, meshServer, SERVER_NAME } from "../mcp_server_entry.ts";
import { type ScopeReader, type SwitchedOff, switchesIn } from "../settings_files/switched_off.ts";
import type { Env } from "../../../host/paths.ts";
import { type Json, type JsonObject, valueAt } from "../settings_files/json.ts";

/** The time limit of a hook, for a busy machine: `mesh hook` takes at most 1.5 s. */
const HOOK_MS_MAX = 5_000;

/**
 * The command of a hook passes on its shell's parent pid, because the shell is a child of the agent
 * and no variable holds the agent's pid.
 */
export const hooks = new MeshHooks({
  agent: "gemini",
  events: [
    "SessionStart",
    "PreCompress",
    "BeforeAgent",
    "BeforeModel", // Names the model, and shows that a dialog has ended.
    "AfterAgent",
    "Notification",
    "SessionEnd",
  ],
  guarded_events: ["AfterTool"],
  variables: "MESH_AGENT_PID=$PPID",
  entry(event, commandOf) {
    const command = commandOf(event);
    // Without the matcher it would run at each prompt.
    const matcher = event === "PreCompress" ? { matcher: "manual" } : {};
    return {
      ...matcher,
      hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }],
    };
  },
});

/** Our server is trusted; otherwise a dialog at each peer's message would stop the agent. */
export const server = meshServer({ trust: true });

/** Our hooks and tools in `~/.gemini/settings.json`. The hooks of others keep their places. */
export function edits(path: string, plan: SetupPlan): readonly Edit[] {
  return [jsonEdit(path, plan, { hooks, server })];
}

const SERVER_PART = "MCP server";
const SYSTEM = Deno.build.os === "darwin"
  ? "/Library/Application Support/GeminiCli"
  : "/etc/gemini-cli";

/** The settings of Gemini CLI (0.61.0) that keep our hooks or our MCP server from running. */
export function switchedOff(home: string, env: Env, files: ScopeReader): readonly SwitchedOff[] {
  const { cwd, json } = files;
  const names = [
    env["GEMINI_CLI_SYSTEM_DEFAULTS_PATH"] || `${SYSTEM}/system-defaults.json`,
    env["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] || `${SYSTEM}/settings.json`,
    `${home}/settings.json`,
    `${cwd}/.gemini/settings.json`,
  ];
  const enablement = `${home}/mcp-server-enablement.json`;
  const isDisabled = valueAt(json(enablement), SERVER_NAME, "enabled") === false;
  return [
    ...[...new Set(names)].flatMap((file) => inFile(file, json(file) ?? {})),
    ...switchesIn(enablement, [
      [
        isDisabled,
        SERVER_PART,
        `${SERVER_NAME}.enabled: false`,
        `gemini mcp enable ${SERVER_NAME}`,
      ],
    ]),
    ...trustOff(home, env, files),
  ];
}

// `hooks`, `tools`, `allowMCPServers` and `excludeMCPServers` are names of older versions.
const HOOK_SWITCHES = ["hooksConfig.enabled", "hooks.enabled", "tools.enableHooks"];
const HOOK_LISTS = ["hooksConfig.disabled", "hooks.disabled"];
const ALLOWED_LISTS = ["mcp.allowed", "allowMCPServers"];
const EXCLUDED_LISTS = ["mcp.excluded", "excludeMCPServers"];

function inFile(file: string, settings: JsonObject): SwitchedOff[] {
  const at = (path: string) => valueAt(settings, ...path.split("."));
  const takeOut = `take it out of ${file}`;
  return switchesIn(file, [
    ...HOOK_SWITCHES.map((path) =>
      [at(path) === false, "hooks", `${path}: false`, `remove it from ${file}`] as const
    ),
    ...HOOK_LISTS.map((path) => {
      const own = namesIn(at(path)).find(isMeshHook);
      return [own !== undefined, "hooks", `"${own}" in ${path}`, takeOut] as const;
    }),
    ...ALLOWED_LISTS.map((path) => {
      const isLeftOut = Array.isArray(at(path)) && !hasMesh(at(path));
      const fix = `add ${SERVER_NAME} to it in ${file}`;
      return [isLeftOut, SERVER_PART, `${path} without "${SERVER_NAME}"`, fix] as const;
    }),
    ...EXCLUDED_LISTS.map((path) =>
      [hasMesh(at(path)), SERVER_PART, `${path} with "${SERVER_NAME}"`, takeOut] as const
    ),
  ]);
}

function namesIn(list: Json | undefined): readonly string[] {
  return Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
}

function hasMesh(list: Json | undefined): boolean {
  return namesIn(list).some((name) => name.toLowerCase().trim() === SERVER_NAME);
}

/** A hook is disabled by its name, or by its command if it has none. */
function isMeshHook(name: string): boolean {
  return /^mesh-[A-Z]/.test(name) || / hook gemini [A-Z]\w+$/.test(name);
}

/** In a folder that its user does not trust, Gemini CLI starts no MCP server. */
function trustOff(home: string, env: Env, { cwd, json }: ScopeReader): SwitchedOff[] {
  const enabled = valueAt(json(`${home}/settings.json`), "security", "folderTrust", "enabled");
  if (enabled === false) return [];
  const file = env["GEMINI_CLI_TRUSTED_FOLDERS_PATH"] || `${home}/trustedFolders.json`;
  const rules = Object.entries(json(file) ?? {});
  const nearest = rules.filter(([folder]) => `${cwd}/`.startsWith(`${folder}/`))
    .toSorted(([a], [b]) => b.length - a.length)[0];
  if (nearest?.[1] !== "DO_NOT_TRUST") return [];
  const setting = `"${nearest[0]}": "DO_NOT_TRUST"`;
  return [{ part: SERVER_PART, file, setting, fix: "trust the folder with /permissions" }];
}
