/** Claude Code: reached through its own socket, its pane, or a hook that wakes it. */

import { type Env, homePath } from "../../../host/paths.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";

/** The release that the socket was tested with (`tests/e2e/agents/claude_adapter_test.ts`). */
export const TESTED_VERSION = "2.1.329";

const home = (env: Env) => env["CLAUDE_CONFIG_DIR"] || homePath(env, ".claude");
const hooksFile = (env: Env) => `${home(env)}/settings.json`;
// This file is beside the default folder, but inside a configured folder.
const serverFile = (env: Env) => `${env["CLAUDE_CONFIG_DIR"] || homePath(env)}/.claude.json`;

const setup: AgentSetup = {
  home,
  hooks_file: hooksFile,
  server_files: (env) => [serverFile(env)],
  async edits(env, plan) {
    const { installHooks, installMcp, removeHooks, removeMcp } = await import("./setup.ts");
    return [
      { path: hooksFile(env), add: (json) => installHooks(json, plan), remove: removeHooks },
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
    const { claudeCodeHooks } = await import("../hooks/claude_format.ts");
    // A session may have been started with another `CLAUDE_CONFIG_DIR` than the daemon.
    const config_dirs = [...new Set([home(host.env), homePath(host.env, ".claude")])];
    const options = { ...host, config_dirs, tested_version: TESTED_VERSION };
    return { adapter: claudeCodeAdapter(options), hooks: claudeCodeHooks };
  },
  fixture: async () => (await import("./fixture.ts")).claudeCodeFixture,
};
