/**
 * Adds, finds and removes our entries in Claude Code's settings: hooks and an MCP server. Finds
 * what switches them off.
 */

import { namesIn } from "../../../host/agent_files.ts";
import { DECISION_SECONDS_MAX, MeshHooks } from "../hooks/settings.ts";
import { type Edit, exists, type SetupPlan } from "../install.ts";
import {
  type AgentFiles,
  allowedTools,
  jsonEdit,
  meshServer,
  SERVER_NAME,
} from "../mcp_server_entry.ts";
import {
  ASK_ADMINISTRATOR,
  type ScopeReader,
  type Switch,
  type SwitchedOff,
  switchesIn,
} from "../settings_files/switched_off.ts";
import { isObject, type Json, type JsonObject, valueAt } from "../settings_files/json.ts";
import { scriptEdit, statusLine } from "./status_line.ts";

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

/** Claude Code asks its user before each call of our tools, unless its settings allow them. */
const permission = allowedTools(`mcp__${SERVER_NAME}`);

export function edits(files: AgentFiles, plan: SetupPlan): readonly Edit[] {
  const { status_line } = plan;
  const hasScript = status_line && (status_line.wanted || exists(status_line.script));
  return [
    jsonEdit(files.hooks, plan, { hooks, permission, statusLine: statusLine(status_line) }),
    jsonEdit(files.server, plan, { server }),
    ...(hasScript ? [scriptEdit(status_line)] : []),
  ];
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
      ...switchesIn(file, hooksOff(file, settings, isManaged)),
      ...switchesIn(file, serverOff(file, settings, isManaged)),
    ]),
    ...folderOff(places.state, json(places.state), cwd),
  ];
}

function hooksOff(file: string, settings: JsonObject, isManaged: boolean): Switch[] {
  const { disableAllHooks, allowManagedHooksOnly: managedOnly } = settings;
  const fix = isManaged ? ASK_ADMINISTRATOR : `remove it from ${file}`;
  const plugins = settings["strictPluginOnlyCustomization"];
  const isStrict = plugins === true || listOf(plugins).includes("hooks");
  const ofAll: Switch = [disableAllHooks === true, "hooks", "disableAllHooks: true", fix];
  if (!isManaged) return [ofAll];
  return [
    ofAll,
    [managedOnly === true, "hooks", "allowManagedHooksOnly: true", fix],
    [isStrict, "hooks", "strictPluginOnlyCustomization for hooks", fix],
  ];
}

function serverOff(file: string, settings: JsonObject, isManaged: boolean): Switch[] {
  const { deniedMcpServers: denied, allowedMcpServers: allowed } = settings;
  const fix = (what: string) => isManaged ? ASK_ADMINISTRATOR : `${what} in ${file}`;
  const takeOut = fix(`take ${SERVER_NAME} out of the list`);
  const add = fix(`add { "serverName": "${SERVER_NAME}" } to the list`);
  const part = "MCP server";
  const isDenied = listOf(denied).some(isNamedMesh);
  // If the list has entries with commands, one of them may allow our server by its command.
  const hasCommands = listOf(allowed).some((entry) => valueAt(entry, "serverCommand"));
  const isLeftOut = Array.isArray(allowed) && !hasCommands && !allowed.some(isNamedMesh);
  const isDisabled = listOf(settings["disabledMcpjsonServers"]).includes(SERVER_NAME);
  return [
    [isDenied, part, `deniedMcpServers with "${SERVER_NAME}"`, takeOut],
    [isLeftOut, part, `allowedMcpServers without "${SERVER_NAME}"`, add],
    [isDisabled, part, `disabledMcpjsonServers with "${SERVER_NAME}"`, takeOut],
  ];
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
