/** Copilot CLI in a home of its own: with a provider on loopback, in a folder that it trusts. */

import { join } from "node:path";
import { ChatModel } from "../model/chat.ts";
import type { Rule } from "../model/model.ts";
import { writeJson } from "../writing.ts";
import type { Specimen } from "../specimen.ts";

export const COPILOT_MODEL = "scripted-1";

/** What a user who has said to trust these folders has in the home. */
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

/** `Touch FILE …` makes the file by a command, which needs leave. */
export const COPILOT_TOUCHES: Rule = {
  match: /Touch (\S+)/,
  steps: [
    { tool: "bash", args: { command: "touch $1", description: "Touches" } },
    { say: "The tool said: ${result}" },
  ],
};

export const COPILOT = ["copilot"] as const;

export function isCopilotAsking(screen: string): boolean {
  return screen.includes("Do you want to run this command?");
}

export const copilot: Specimen = {
  agent: "copilot",
  title: "Copilot CLI",
  program: "copilot",
  model: () => new ChatModel([COPILOT_TOUCHES]),
  furnish({ home, folder }, { url }) {
    writeJson(join(home, ".copilot", "config.json"), copilotConfig([folder]));
    return copilotEnvironment(url);
  },
  command: COPILOT,
  resume: ["--continue"],
  // What was said before stands behind a blank.
  isReady: (screen) => /^❯\s*$/m.test(screen),
  dialog: {
    prompt: (forbidden, mark) => `Touch ${forbidden} ${mark}`,
    isOpen: isCopilotAsking,
    refusal: ["Escape"],
  },
  untested: { native: "it has none" },
};
