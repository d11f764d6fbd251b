/** The real agents for the harness: a home that has started before, and a scripted model. */

import { join } from "node:path";
import { claudeScreen } from "../../../daemon/features/agents/claude_code/claude_code.ts";
import { CLAUDE_COMMAND } from "../../../daemon/features/agents/claude_code/fixture.ts";
import { codexScreen } from "../../../daemon/features/agents/codex/codex.ts";
import { copilotScreen } from "../../../daemon/features/agents/copilot/copilot.ts";
import { geminiScreen } from "../../../daemon/features/agents/gemini/gemini.ts";
import { opencodeScreen } from "../../../daemon/features/agents/opencode/opencode.ts";
import {
  codexConfig,
  codexFixture,
  codexStartKey,
} from "../../../daemon/features/agents/codex/fixture.ts";
import {
  COPILOT_COMMAND,
  copilotConfig,
  copilotEnvironment,
} from "../../../daemon/features/agents/copilot/fixture.ts";
import {
  GEMINI_COMMAND,
  GEMINI_SETTINGS,
  geminiEnvironment,
} from "../../../daemon/features/agents/gemini/fixture.ts";
import {
  OPENCODE_ENVIRONMENT,
  opencodePackage,
  opencodeSettings,
} from "../../../daemon/features/agents/opencode/fixture.ts";
import { writeFiles } from "../../../tools/selftest/agent_run.ts";
import { ChatModel } from "../../../tools/selftest/model/chat.ts";
import { GeminiModel } from "../../../tools/selftest/model/gemini.ts";
import type { MessagesModel } from "../../../tools/selftest/model/messages.ts";
import type { ScriptedReply } from "../../../daemon/features/agents/selftest/fixture.ts";
import { ResponsesModel } from "../../../tools/selftest/model/responses.ts";
import { copilotUnpacked, OPENCODE } from "./installed_agents.ts";
import type { Lab } from "./lab.ts";
import type { AgentFixture, AgentUnderTest } from "./agent_harness.ts";
import { denoDir, inPane, run } from "./programs.ts";
import { until } from "../waiting.ts";

export interface ClaudeUnderTest extends AgentUnderTest {
  readonly model: MessagesModel;
}

/** The lab's own home and model. */
export function prepareClaude({ model }: Lab, bin: string): ClaudeUnderTest {
  const command = CLAUDE_COMMAND;
  return { backend: "claude-code", bin, command, env: {}, composer: claudeScreen, model };
}

export interface Copilot extends AgentUnderTest {
  readonly model: ChatModel;
}

/** Its user has trusted the folder; the program unpacks itself once for all homes. */
export function prepareCopilot(lab: Lab, bin: string, rules: readonly ScriptedReply[]): Copilot {
  lab.write("home/.copilot/config.json", copilotConfig([join(lab.dir, "api")]));
  Deno.mkdirSync(join(lab.dir, "home/.cache"));
  Deno.symlinkSync(copilotUnpacked(), join(lab.dir, "home/.cache/copilot"));
  const model = new ChatModel(rules);
  const env = copilotEnvironment(model.url);
  return { backend: "copilot", bin, command: COPILOT_COMMAND, env, composer: copilotScreen, model };
}

export interface Gemini extends AgentUnderTest {
  readonly model: GeminiModel;
}

export function prepareGemini(
  lab: Lab,
  bin: string,
  rules: readonly ScriptedReply[] = [],
): Gemini {
  lab.write("home/.gemini/settings.json", GEMINI_SETTINGS);
  const model = new GeminiModel(rules);
  const env = geminiEnvironment(model.url);
  return { backend: "gemini", bin, command: GEMINI_COMMAND, env, composer: geminiScreen, model };
}

export interface Opencode extends AgentUnderTest {
  readonly model: ChatModel;
}

export function prepareOpencode(
  lab: Lab,
  bin: string,
  rules: readonly ScriptedReply[],
): Opencode {
  const model = new ChatModel(rules);
  writeFiles(opencodePackage(join(lab.dir, "home/.config/opencode"), OPENCODE.version));
  lab.write("home/.config/opencode/opencode.json", opencodeSettings(model.url));
  const env = OPENCODE_ENVIRONMENT;
  return { backend: "opencode", bin, command: ["opencode"], env, composer: opencodeScreen, model };
}

export interface CodexUnderTest extends AgentUnderTest {
  readonly model: ResponsesModel;
}

/** Its shared server keeps its sockets in a fixed folder; the test provides its own. */
export function prepareCodex(
  lab: Lab,
  bin: string,
  rules: readonly ScriptedReply[],
): CodexUnderTest {
  const sockets = `/tmp/codex-daemon-${Deno.uid()}`;
  Deno.mkdirSync(sockets, { recursive: true, mode: 0o700 });
  run("mount", ["-t", "tmpfs", "-o", "mode=0700", "none", sockets]);
  const model = new ResponsesModel(rules);
  for (const name of ["home/.codex", "home/.cache"]) Deno.mkdirSync(join(lab.dir, name));
  // Codex passes only a few variables to its MCP servers; DENO_DIR is not among them.
  Deno.symlinkSync(denoDir(), join(lab.dir, "home/.cache/deno"));
  const config = codexConfig(model.url, [join(lab.dir, "api")]);
  Deno.writeTextFileSync(join(lab.dir, "home/.codex/config.toml"), config);
  const env = { SCRIPTED_KEY: "none" };
  return {
    backend: "codex",
    bin,
    command: ["codex"],
    env,
    composer: codexScreen,
    model,
  };
}

/** A process of its own, whose user has trusted our hooks. */
export function prepareStandaloneCodex(
  lab: Lab,
  bin: string,
  rules: readonly ScriptedReply[],
): CodexUnderTest {
  const command = ["codex", "--no-daemon", "--dangerously-bypass-hook-trust"];
  return { ...prepareCodex(lab, bin, rules), command };
}

/** Codex asks its user about new hooks, once, and runs none before. */
export async function trustHooks({ lab, path, env }: AgentFixture): Promise<void> {
  const size = ["-d", "-x", "160", "-y", "50", "-P", "-F", "#{pane_id}"];
  const pane = lab.cli("new-session", ...size, ...inPane(path, env, ["codex"]));
  let asked = false;
  await until("our hooks to be trusted", () => {
    const screen = lab.cli("capture-pane", "-p", "-t", pane);
    const key = codexStartKey(screen);
    if (key !== undefined) lab.cli("send-keys", "-t", pane, key);
    asked ||= screen.includes("Hooks need review");
    return asked && codexFixture.isReady(screen);
  });
  await lab.killPane(pane);
}

export async function stopServer({ agentUnderTest: { bin }, env }: AgentFixture): Promise<void> {
  await stopCodexServer(bin, env);
}

/** The shared server outlives its terminals until it is stopped. */
export async function stopCodexServer(bin: string, env: Record<string, string>): Promise<void> {
  const args = ["app-server", "daemon", "stop"];
  const quiet = { stdout: "null", stderr: "null" } as const;
  await new Deno.Command(bin, { args, env, clearEnv: true, ...quiet }).output();
}
