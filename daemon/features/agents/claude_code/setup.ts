/**
 * Adds, finds and removes our entries in Claude Code's settings: hooks and an MCP server. Finds
 * what switches them off.
 */

import { namesIn } from "../../../host/agent_files.ts";
import { DECISION_SECONDS_MAX, MeshHooks } from "../hooks/settings.ts";
import type { Edit, SetupPlan } from "../install.ts";
import { type AgentFiles, editsOf, meshServer, SERVER_NAME } from "../mcp_server_entry.ts";
import type { ScopeReader, SwitchedOff } from "../settings_files/switched_off.ts";
import { isObject, type Json, type JsonObject, valueAt } from "../settings_files/json.ts";

/** The time limit of a hook. It must exceed the 1.5 s of `mesh hook`. */
const HOOK_SECONDS_MAX = 5;
const WAKE_SECONDS_MAX = 7 * 86_400;

/**
 * Our hooks in `~/.claude/settings.json`. Every hook is a command, because an `http` hook shows an
 * error at each prompt while the daemon is down. After a start or a stop the session may be idle,
 * so a second hook waits to wake it. The waiting hook ends by itself, unless its session stays idle
 * for days without a better transport.
 */
export const hooks = new MeshHooks({
  agent: "claude-code",
  own_event: "Wake",
  events: [
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "StopFailure",
    "Notification",
    "PermissionRequest",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
  ],
  guarded_events: ["PostToolBatch"],
  entry(event, command) {
    const timeout = event === "PermissionRequest" ? DECISION_SECONDS_MAX : HOOK_SECONDS_MAX;
    const report = { type: "command", command: command(event), timeout };
    if (event !== "SessionStart" && event !== "Stop") return { hooks: [report] };
    const wait = { type: "command", command: command("Wake"), timeout: WAKE_SECONDS_MAX };
    return { hooks: [report, { ...wait, asyncRewake: true }] };
  },
});

/** Our MCP server in `~/.claude.json`; `alwaysLoad` keeps its tools out of the tool search. */
export const server = meshServer({ type: "stdio", alwaysLoad: true });

export function edits(files: AgentFiles, plan: SetupPlan): readonly Edit[] {
  return editsOf(files, { hooks, server }, plan);
}

interface Places {
  /** `~/.claude/settings.json`. */
  readonly user: string;
  /** `~/.claude.json`, which has the user's choices for each folder. */
  readonly state: string;
  /** The folder of the settings that an administrator manages. */
  readonly managed: string;
}

/** The settings of Claude Code (2.1.329) that keep our hooks or our MCP server from running. */
export function switchedOff(places: Places, files: ScopeReader): readonly SwitchedOff[] {
  const { cwd, json } = files;
  const dropInFolder = `${places.managed}/managed-settings.d`;
  const dropIns = namesIn(dropInFolder).filter((name) => name.endsWith(".json"))
    .map((name) => `${dropInFolder}/${name}`);
  const managed = [`${places.managed}/managed-settings.json`, ...dropIns];
  const project = [`${cwd}/.claude/settings.json`, `${cwd}/.claude/settings.local.json`];
  const scopes = [...new Set([...managed, places.user, ...project])].map((file) => ({
    file,
    settings: json(file) ?? {},
    isManaged: managed.includes(file),
  }));
  return [
    ...scopes.flatMap(({ file, settings, isManaged }) => [
      ...hooksOff(file, settings, isManaged),
      ...serverOff(file, settings, isManaged),
    ]),
    ...folderOff(places.state, json(places.state), cwd),
  ];
}

function hooksOff(file: string, settings: JsonObject, isManaged: boolean): SwitchedOff[] {
  const found: SwitchedOff[] = [];
  const part = "hooks";
  const fix = isManaged ? ASK : `remove it from ${file}`;
  if (settings["disableAllHooks"] === true) {
    found.push({ part, file, setting: "disableAllHooks: true", fix });
  }
  if (!isManaged) return found;
  if (settings["allowManagedHooksOnly"] === true) {
    found.push({ part, file, setting: "allowManagedHooksOnly: true", fix });
  }
  const plugins = settings["strictPluginOnlyCustomization"];
  if (plugins === true || (Array.isArray(plugins) && plugins.includes("hooks"))) {
    found.push({ part, file, setting: "strictPluginOnlyCustomization for hooks", fix });
  }
  return found;
}

const ASK = "ask who manages the settings of this machine";

function serverOff(file: string, settings: JsonObject, isManaged: boolean): SwitchedOff[] {
  const part = "MCP server";
  const fix = (what: string) => isManaged ? ASK : `${what} in ${file}`;
  const found: SwitchedOff[] = [];
  if (listOf(settings["deniedMcpServers"]).some(isNamedMesh)) {
    const setting = `deniedMcpServers with "${SERVER_NAME}"`;
    found.push({ part, file, setting, fix: fix(`take ${SERVER_NAME} out of the list`) });
  }
  const allowed = settings["allowedMcpServers"];
  const hasCommands = listOf(allowed).some((entry) => valueAt(entry, "serverCommand"));
  // If the list has entries with commands, one of them may allow our server by its command.
  if (Array.isArray(allowed) && !hasCommands && !allowed.some(isNamedMesh)) {
    const setting = `allowedMcpServers without "${SERVER_NAME}"`;
    found.push({
      part,
      file,
      setting,
      fix: fix(`add { "serverName": "${SERVER_NAME}" } to the list`),
    });
  }
  if (listOf(settings["disabledMcpjsonServers"]).includes(SERVER_NAME)) {
    const setting = `disabledMcpjsonServers with "${SERVER_NAME}"`;
    found.push({ part, file, setting, fix: fix(`take ${SERVER_NAME} out of the list`) });
  }
  return found;
}

/** Reports our server if the user has disabled it for one folder, with `/mcp`. */
function folderOff(file: string, state: JsonObject | undefined, cwd: string): SwitchedOff[] {
  const disabled = valueAt(state, "projects", cwd, "disabledMcpServers");
  if (!listOf(disabled).includes(SERVER_NAME)) return [];
  const setting = `projects["${cwd}"].disabledMcpServers with "${SERVER_NAME}"`;
  const fix = `enable ${SERVER_NAME} with /mcp in Claude Code`;
  return [{ part: "MCP server", file, setting, fix }];
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function isNamedMesh(entry: Json): boolean {
  return isObject(entry) && entry["serverName"] === SERVER_NAME;
}
