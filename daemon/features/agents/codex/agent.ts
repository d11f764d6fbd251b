/** Codex: reached through the queue of its shared server, or the pane of a separate session. */

import { type Env, homePath } from "../../../host/paths.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";

const home = (env: Env) => env["CODEX_HOME"] || homePath(env, ".codex");
const files = (env: Env) => ({
  hooks: `${home(env)}/hooks.json`,
  server: `${home(env)}/config.toml`,
});

const setup: AgentSetup = {
  home,
  permission: "default_tools_approval_mode",
  notice:
    'Codex asks about new hooks once, as it does for every program: start it, and at "Hooks ' +
    'need review" choose to trust them. Then `mesh peers` lists it.',
  async edits(env, plan) {
    return (await import("./setup.ts")).edits(files(env), plan);
  },
  async switchedOff(env, reader) {
    return (await import("./setup.ts")).switchedOff(home(env), reader);
  },
};

export const codex: AgentDefinition = {
  id: "codex",
  title: "Codex",
  programs: ["codex"],
  tested_version: "0.171.0",
  transports: ["native", "pane"],
  permission_modes: [
    ...["read-only", "workspace-write", "danger-full-access"],
    ...["untrusted", "on-failure", "on-request", "never"],
  ],
  silent_until_prompt: true,
  setup,
  hooks: { decision_events: ["PermissionRequest"], pid_variable: "MESH_AGENT_PID" },
  async open(host) {
    const { codexAdapter } = await import("./codex.ts");
    const { codexHooks } = await import("./hooks.ts");
    const { codexEnds } = await import("./turn_ends.ts");
    const codex_home = home(host.env);
    const hooks = { ...codexHooks(), lastEnd: codexEnds(codex_home) };
    return { adapter: codexAdapter({ ...host, codex_home }), hooks };
  },
  async sessionFiles(env) {
    return (await import("./session_files.ts")).codexSessionFiles(home(env));
  },
  fixture: async () => (await import("./fixture.ts")).codexFixture,
};
