/** Copilot CLI's self-test fixture: a home, a local model provider, and a trusted folder. */

import { join } from "kit/core/path.ts";
import type { Fixture, ScriptedReply } from "../selftest/fixture.ts";

export const COPILOT_MODEL = "scripted-1";

/** The configuration of a user who trusts these folders. */
export function copilotConfig(folders: readonly string[]) {
  return { trustedFolders: [...folders] };
}

export function copilotEnvironment(model_url: string): Record<string, string> {
  return {
    COPILOT_OFFLINE: "true",
    COPILOT_AUTO_UPDATE: "false",
    COPILOT_PROVIDER_BASE_URL: model_url,
    COPILOT_PROVIDER_API_KEY: "dummy",
    COPILOT_MODEL,
  };
}

/** Makes the prompt `Touch FILE …` create the file by a shell command, which needs permission. */
export const COPILOT_TOUCH_RULE: ScriptedReply = {
  match: /Touch (\S+)/,
  steps: [
    { tool: "bash", args: { command: "touch $1", description: "Touches" } },
    { say: "The tool said: ${result}" },
  ],
};

export const COPILOT_COMMAND = ["copilot"] as const;

export function isCopilotAtDialog(screen: string): boolean {
  return screen.includes("Do you want to run this command?");
}

export const copilotFixture: Fixture = {
  model_api: "chat",
  rules: () => [COPILOT_TOUCH_RULE],
  files: ({ home, folder }) => ({
    [join(home, ".copilot", "config.json")]: copilotConfig([folder]),
  }),
  env: copilotEnvironment,
  command: COPILOT_COMMAND,
  resume: ["--continue"],
  // Earlier prompts have text behind the space.
  isReady: (screen) => /^❯\s*$/m.test(screen),
  dialog: {
    prompt: (forbidden, mark) => `Touch ${forbidden} ${mark}`,
    isOpen: isCopilotAtDialog,
    refusal: ["Escape"],
  },
  untested: { native: "Copilot CLI has no native transport" },
};
