/** Claude Code: reached through its own socket, its pane, or a hook that wakes it. */

import { type Env, homePath, statePath } from "../../../host/paths.ts";
import type { AgentPeer } from "../adapter.ts";
import type { AgentDefinition, AgentSetup } from "../definition.ts";

/** The release that the socket was tested with (`tests/e2e/agents/claude_adapter_test.ts`). */
export const TESTED_VERSION = "2.1.329";

const home = (env: Env) => env["CLAUDE_CONFIG_DIR"] || homePath(env, ".claude");
const hooksFile = (env: Env) => `${home(env)}/settings.json`;
// A session may have been started with another `CLAUDE_CONFIG_DIR` than the daemon.
const configDirs = (env: Env) => [...new Set([home(env), homePath(env, ".claude")])];
/** The folder of the settings that an administrator manages. */
const MANAGED = Deno.build.os === "darwin"
  ? "/Library/Application Support/ClaudeCode"
  : "/etc/claude-code";
// This file is beside the default folder, but inside a configured folder.
const serverFile = (env: Env) => `${env["CLAUDE_CONFIG_DIR"] || homePath(env)}/.claude.json`;

const setup: AgentSetup = {
  home,
  permission: '"mcp__mesh"',
  async edits(env, plan) {
    const files = { hooks: hooksFile(env), server: serverFile(env) };
    return (await import("./setup.ts")).edits(files, plan);
  },
  async switchedOff(env, files) {
    const places = { user: hooksFile(env), state: serverFile(env), managed: MANAGED };
    return (await import("./setup.ts")).switchedOff(places, files);
  },
  async keptStatusLine(env, files, script) {
    const { keptStatusLine } = await import("./status_line.ts");
    return keptStatusLine(files.json(hooksFile(env)) ?? {}, script);
  },
};

export const claudeCode: AgentDefinition = {
  id: "claude-code",
  title: "Claude Code",
  programs: ["claude", "claude-code"],
  tested_version: TESTED_VERSION,
  untested_transport: "pane",
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
    const { claudeEnds } = await import("./turn_ends.ts");
    const { accountPlaces } = await import("./account.ts");
    const { StartingSessions } = await import("./starting.ts");
    const starting = new StartingSessions(host.clock, host.hasTools);
    const config_dirs = configDirs(host.env);
    const plan_use_dir = `${statePath(host.env)}/plan-use`;
    (await import("./plan_use.ts")).removeOldPlanUse(plan_use_dir, host.clock.now());
    const options = {
      ...host,
      config_dirs,
      plan_use_dir,
      account_places: accountPlaces(config_dirs, homePath(host.env, ".claude")),
      tested_version: TESTED_VERSION,
      isStarting: (peer: AgentPeer) => starting.has(peer),
    };
    const hooks = { ...claudeCodeHooks, lastEnd: claudeEnds(options.config_dirs) };
    return { adapter: claudeCodeAdapter(options), hooks: starting.watch(hooks) };
  },
  async sessionFiles(env) {
    return (await import("./session_files.ts")).claudeSessionFiles(configDirs(env));
  },
  fixture: async () => (await import("./fixture.ts")).claudeCodeFixture,
};
