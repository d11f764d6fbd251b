/** The settings of Copilot CLI (1.0.102) that keep our hooks or our MCP server from running. */

import type { ScopeReader, SwitchedOff } from "../settings_files/switched_off.ts";
import { SERVER_NAME } from "../mcp_server_entry.ts";

export function switchedOff(home: string, { cwd, json }: ScopeReader): readonly SwitchedOff[] {
  const names = [
    `${home}/settings.json`,
    `${home}/config.json`,
    `${cwd}/.github/copilot/settings.json`,
    `${cwd}/.github/copilot/settings.local.json`,
  ];
  return names.flatMap((file): SwitchedOff[] => {
    const settings = json(file) ?? {};
    const disabled = settings["disabledMcpServers"];
    return [
      ...(settings["disableAllHooks"] === true
        ? [
          {
            part: "hooks",
            file,
            setting: "disableAllHooks: true",
            fix: `remove it from ${file}`,
          } satisfies SwitchedOff,
        ]
        : []),
      ...(Array.isArray(disabled) && disabled.includes(SERVER_NAME)
        ? [
          {
            part: "MCP server",
            file,
            setting: `disabledMcpServers with "${SERVER_NAME}"`,
            fix: `enable ${SERVER_NAME} with /mcp in Copilot CLI`,
          } satisfies SwitchedOff,
        ]
        : []),
    ];
  });
}
