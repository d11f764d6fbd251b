/** opencode: reached through its plugin's WebSocket, or its pane if it has no plugin. */

import { configHome, type Env, homePath, xdgFolder } from "../../../host/paths.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";
import type { Edit } from "../install.ts";

const home = (env: Env) => `${configHome(env)}/opencode`;
const settingsFiles = (env: Env) =>
  ["opencode.json", "opencode.jsonc"].map((name) => `${home(env)}/${name}`);

/** The folder of opencode's sessions. */
export const dataDir = (env: Env) =>
  `${xdgFolder(env, "XDG_DATA_HOME") ?? homePath(env, ".local", "share")}/opencode`;

const setup: AgentSetup = {
  home,
  async edits(env, plan) {
    const { installPlugin, removePlugin, serverEdits } = await import("./setup.ts");
    const path = `${home(env)}/plugin/mesh.js`;
    const plugin: Edit = { path, format: "text", add: installPlugin, remove: removePlugin };
    return [plugin, ...serverEdits(settingsFiles(env), plan)];
  },
  async switchedOff(env, files) {
    return (await import("./setup.ts")).switchedOff(home(env), env, files);
  },
};

export const opencode: AgentDefinition = {
  id: "opencode",
  title: "opencode",
  programs: ["opencode", "opencode-ai"],
  tested_version: "1.18.33",
  transports: ["websocket", "pane"],
  permission_modes: [],
  setup,
  async open(host) {
    const { opencodeAdapter } = await import("./opencode.ts");
    return { adapter: opencodeAdapter({ ...host, data_dir: dataDir(host.env) }) };
  },
  async sessionFiles(env) {
    return (await import("./session_files.ts")).opencodeSessionFiles(dataDir(env));
  },
  fixture: async () => (await import("./fixture.ts")).opencodeFixture,
};
