/** Gemini CLI's self-test fixture: a separate home after its first start, and a dummy API key. */

import { join } from "kit/core/path.ts";
import type { Fixture } from "../selftest/fixture.ts";

/** The settings of a user who has completed the first start. */
export const GEMINI_SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
  general: { enableAutoUpdate: false },
  ide: { hasSeenNudge: true },
};

export const GEMINI_COMMAND = ["gemini", "-m", "gemini-2.5-flash"] as const;

export function geminiEnvironment(model_url: string): Record<string, string> {
  return { GEMINI_API_KEY: "dummy", GOOGLE_GEMINI_BASE_URL: model_url };
}

export const geminiFixture: Fixture = {
  model_api: "generate-content",
  files: ({ home }) => ({ [join(home, ".gemini", "settings.json")]: GEMINI_SETTINGS }),
  env: geminiEnvironment,
  command: GEMINI_COMMAND,
  resume: ["--resume", "latest"],
  isReady: (screen) => screen.includes("Type your message"),
  dialog: {
    prompt: (forbidden, mark) =>
      `${mark} @@TOOL run_shell_command ${JSON.stringify({ command: `touch ${forbidden}` })}`,
    isOpen: (screen) => screen.includes("Allow execution of"),
    refusal: ["Escape"],
  },
  untested: { native: "Gemini CLI has no native transport" },
};
