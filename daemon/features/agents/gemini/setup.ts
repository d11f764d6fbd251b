/** Adds, finds and removes our entries in Gemini CLI's settings. Finds what switches them off. */

import { MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { meshServer, SERVER_NAME } from "../mcp_server_entry.ts";
import type { ScopeReader, SwitchedOff } from "../settings_files/switched_off.ts";
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
    return { hooks: [{ type: "command", name: `mesh-${event}`, command, timeout: HOOK_MS_MAX }] };
  },
});

/** Our server is trusted; otherwise a dialog at each peer's message would stop the agent. */
export const server = meshServer({ trust: true });

/** Our hooks and tools in `~/.gemini/settings.json`. The hooks of others keep their places. */
export function edits(path: string, plan: SetupPlan): readonly Edit[] {
  return [{
    path,
    format: "json",
    add: (settings) => server.install(hooks.install(settings, plan), plan),
    remove: (settings, original) => server.remove(hooks.remove(settings, plan), plan, original),
    learn: (settings) => hooks.learn(settings, plan),
    find: (settings) => ({
      hooks: hooks.find(settings, plan),
      servers: server.find(settings, plan),
    }),
  }];
}

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
    ...[...new Set(names)].flatMap((file) => {
      const settings = json(file);
      return settings ? inFile(file, settings) : [];
    }),
    ...(isDisabled
      ? [
        {
          part: "MCP server",
          file: enablement,
          setting: `${SERVER_NAME}.enabled: false`,
          fix: `gemini mcp enable ${SERVER_NAME}`,
        } satisfies SwitchedOff,
      ]
      : []),
    ...trustOff(home, env, files),
  ];
}

function inFile(file: string, settings: JsonObject): SwitchedOff[] {
  const found: SwitchedOff[] = [];
  const add = (part: SwitchedOff["part"], setting: string, what = "remove it from") =>
    found.push({ part, file, setting, fix: `${what} ${file}` });
  // `hooks` and `tools` had these switches in older versions.
  for (
    const [section, key] of [["hooksConfig", "enabled"], ["hooks", "enabled"], [
      "tools",
      "enableHooks",
    ]]
  ) {
    if (valueAt(settings, section ?? "", key ?? "") === false) {
      add("hooks", `${section}.${key}: false`);
    }
  }
  for (const section of ["hooksConfig", "hooks"]) {
    const own = namesIn(valueAt(settings, section, "disabled")).find(isMeshHook);
    if (own !== undefined) add("hooks", `"${own}" in ${section}.disabled`, "take it out of");
  }
  // The last two are the names of older versions.
  for (
    const [key, list] of [
      ["mcp.allowed", valueAt(settings, "mcp", "allowed")],
      ["allowMCPServers", settings["allowMCPServers"]],
    ] as const
  ) {
    if (Array.isArray(list) && !hasMesh(list)) {
      add("MCP server", `${key} without "${SERVER_NAME}"`, `add ${SERVER_NAME} to it in`);
    }
  }
  for (
    const [key, list] of [
      ["mcp.excluded", valueAt(settings, "mcp", "excluded")],
      ["excludeMCPServers", settings["excludeMCPServers"]],
    ] as const
  ) {
    if (hasMesh(list)) add("MCP server", `${key} with "${SERVER_NAME}"`, "take it out of");
  }
  return found;
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
  return [{ part: "MCP server", file, setting, fix: "trust the folder with /permissions" }];
}
