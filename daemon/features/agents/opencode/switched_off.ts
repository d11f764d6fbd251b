/** The settings of opencode (1.18.33) that keep our plugin or our MCP server from running. */

import type { ScopeReader, SwitchedOff } from "../settings_files/switched_off.ts";
import { SERVER_NAME } from "../mcp_server_entry.ts";
import type { Env } from "../../../host/paths.ts";
import { isObject, valueAt } from "../settings_files/json.ts";

const FILES = ["config.json", "opencode.json", "opencode.jsonc"];

export function switchedOff(home: string, env: Env, files: ScopeReader): readonly SwitchedOff[] {
  const { cwd, json } = files;
  const folders = [home, cwd, `${cwd}/.opencode`];
  const own = env["OPENCODE_CONFIG"];
  const names = [
    ...folders.flatMap((folder) => FILES.map((name) => `${folder}/${name}`)),
    ...(own ? [own] : []),
  ];
  const pure = env["OPENCODE_PURE"] ?? "";
  return [
    ...[...new Set(names)].flatMap((file): SwitchedOff[] => {
      const settings = json(file);
      const part = "MCP server";
      const enabled = `mcp.${SERVER_NAME}.enabled`;
      const isOff = valueAt(settings, "mcp", SERVER_NAME, "enabled") === false;
      const tools = valueAt(settings, "tools");
      const off = isObject(tools)
        ? Object.keys(tools).find((name) => tools[name] === false && TOOLS.test(name))
        : undefined;
      return [
        ...(isOff
          ? [{ part, file, setting: `${enabled}: false`, fix: `set ${enabled} to true` }] as const
          : []),
        ...(off === undefined ? [] : [{
          part,
          file,
          setting: `tools["${off}"]: false`,
          fix: `remove it from ${file}`,
        }] as const),
      ];
    }),
    ...(/^(1|true)$/i.test(pure)
      ? [{
        part: "hooks",
        file: "the environment",
        setting: `OPENCODE_PURE=${pure}, so that no plugin is loaded`,
        fix: "unset OPENCODE_PURE",
      }] as const
      : []),
  ];
}

/** A pattern that covers all of our tools. */
const TOOLS = /^mesh_?\*$/;
