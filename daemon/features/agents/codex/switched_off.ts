/** The settings of Codex (0.169.0) that keep our hooks or our MCP server from running. */

import type { ScopeReader, SwitchedOff } from "../settings_files/switched_off.ts";
import { SERVER_NAME } from "../mcp_server_entry.ts";
import { type Json, type JsonObject, valueAt } from "../settings_files/json.ts";

/** The folder of the settings that an administrator manages. */
const MANAGED = "/etc/codex";
/** The feature, and its former name. */
const FEATURES = ["hooks", "codex_hooks"];

export function switchedOff(home: string, files: ScopeReader): readonly SwitchedOff[] {
  const { cwd, toml } = files;
  const managed = ["config.toml", "managed_config.toml", "requirements.toml"].map((name) =>
    `${MANAGED}/${name}`
  );
  const names = [
    ...managed,
    `${home}/config.toml`,
    `${home}/managed_config.toml`,
    `${cwd}/.codex/config.toml`,
  ];
  return [...new Set(names)].flatMap((file) => {
    const config = toml(file);
    const fix = managed.includes(file)
      ? "ask who manages the settings of this machine"
      : `remove it from ${file}`;
    return config ? inFile(config).map((found) => ({ ...found, file, fix })) : [];
  });
}

function inFile(config: JsonObject): Pick<SwitchedOff, "part" | "setting">[] {
  const found: Pick<SwitchedOff, "part" | "setting">[] = [];
  const profile = config["profile"];
  const tables: [name: string, table: Json | undefined][] = [
    ["features", config["features"]],
    ...(typeof profile === "string"
      ? [
        [
          `profiles.${profile}.features`,
          valueAt(config, "profiles", profile, "features"),
        ] satisfies [
          string,
          Json | undefined,
        ],
      ]
      : []),
  ];
  for (const [name, table] of tables) {
    for (const feature of FEATURES.filter((key) => valueAt(table, key) === false)) {
      found.push({ part: "hooks", setting: `${name}.${feature} = false` });
    }
  }
  if (config["allow_managed_hooks_only"] === true) {
    found.push({ part: "hooks", setting: "allow_managed_hooks_only = true" });
  }
  if (valueAt(config, "mcp_servers", SERVER_NAME, "enabled") === false) {
    found.push({ part: "MCP server", setting: `mcp_servers.${SERVER_NAME}.enabled = false` });
  }
  return found;
}
