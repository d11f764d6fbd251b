/** Claude Code: reached by its own socket, by its pane, or by a hook that wakes it. */

import { type Env, homePath } from "../../../host/paths.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";
import { TESTED_VERSION } from "./version.ts";

const home = (env: Env) => env["CLAUDE_CONFIG_DIR"] || homePath(env, ".claude");
const hooksFile = (env: Env) => `${home(env)}/settings.json`;
// Beside the folder by default, inside a folder that was chosen.
const serverFile = (env: Env) => `${env["CLAUDE_CONFIG_DIR"] || homePath(env)}/.claude.json`;

const setup: AgentSetup = {
  home,
  hooks_file: hooksFile,
  server_files: (env) => [serverFile(env)],
  async edits(env, plan) {
    const { installHooks, installMcp, removeHooks, removeMcp } = await import("./setup.ts");
    return [
      {
        path: hooksFile(env),
        add: (settings) => installHooks(settings, plan),
        remove: removeHooks,
      },
      { path: serverFile(env), add: (json) => installMcp(json, plan), remove: removeMcp },
    ];
  },
};

export const claudeCode: AgentDefinition = {
  id: "claude-code",
  title: "Claude Code",
  programs: ["claude", "claude-code"],
  tested_version: TESTED_VERSION,
  transports: ["native", "pane", "hook"],
  permission_modes: [
    ...["default", "acceptEdits", "plan", "auto", "manual", "dontAsk", "bypassPermissions"],
  ],
  setup,
  hooks: {
    decision_events: ["PermissionRequest"],
    pid_variable: "CLAUDE_PID",
    wait: async () => (await import("./wake_hook.ts")).waitForWake,
  },
  async open(host) {
    const { claudeCodeAdapter } = await import("./claude_code.ts");
    const { claudeCodeHooks } = await import("./hooks.ts");
    // A session may have been started with another setting than the daemon.
    const config_dirs = [...new Set([home(host.env), homePath(host.env, ".claude")])];
    return { adapter: claudeCodeAdapter({ ...host, config_dirs }), hooks: claudeCodeHooks };
  },
  fixture: async () => (await import("./fixture.ts")).claudeCodeFixture,
};
