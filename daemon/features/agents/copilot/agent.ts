/** Copilot CLI: reached through its pane; its records and its hooks report its turns. */

import { type Env, homePath } from "../../../host/paths.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";

const home = (env: Env) => env["COPILOT_HOME"] || homePath(env, ".copilot");
const files = (env: Env) => ({
  hooks: `${home(env)}/settings.json`,
  server: `${home(env)}/mcp-config.json`,
});

const setup: AgentSetup = {
  home,
  permission: "permissionRequest",
  async edits(env, plan) {
    return (await import("./setup.ts")).edits(files(env), plan);
  },
  async switchedOff(env, reader) {
    return (await import("./setup.ts")).switchedOff(home(env), reader);
  },
};

export const copilot: AgentDefinition = {
  id: "copilot",
  title: "Copilot CLI",
  programs: ["copilot"],
  tested_version: "1.0.102",
  transports: ["pane"],
  permission_modes: [],
  setup,
  hooks: {
    decision_events: ["permissionRequest"],
    pid_variable: "MESH_AGENT_PID",
    // Adds the name of the event, because the payload does not contain it.
    rewrite: (event) => (payload) => ({ ...payload, hookName: event }),
    // The session is announced by `mesh mcp`, because MCP servers start with the session, but the
    // first hook comes with the first prompt.
    announcement: ({ COPILOT_AGENT_SESSION_ID: sessionId }) =>
      sessionId ? { hookName: "arrived", sessionId, cwd: Deno.cwd() } : undefined,
  },
  async open(host) {
    const { copilotAdapter } = await import("./copilot.ts");
    const { copilotReader } = await import("./hooks.ts");
    const config_dir = home(host.env);
    return {
      adapter: copilotAdapter({ ...host, config_dir }),
      hooks: copilotReader({ config_dir, clock: host.clock }),
    };
  },
  async sessionFiles(env) {
    return (await import("./session_files.ts")).copilotSessionFiles(home(env));
  },
  fixture: async () => (await import("./fixture.ts")).copilotFixture,
};
