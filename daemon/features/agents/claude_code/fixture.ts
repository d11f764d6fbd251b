/** Claude Code's self-test fixture: a home after its first start; each tool needs permission. */

import { join } from "kit/core/path.ts";
import type { Fixture } from "../selftest/fixture.ts";

/** An API key of the right form. Its last 20 characters must be in `.claude.json`. */
const DUMMY_KEY = `sk-ant-dummy-${"0".repeat(40)}`;

/** Asks before every tool call, unlike the default mode after a first start. */
export const CLAUDE_COMMAND = ["claude", "--permission-mode", "manual"] as const;

export function claudeEnvironment(model_url: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: model_url,
    ANTHROPIC_API_KEY: DUMMY_KEY,
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
}

/** The settings of a Claude Code whose first start is complete. */
export function claudeFirstStartDone(version: string, folders: readonly string[]) {
  const trusted = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true };
  return {
    hasCompletedOnboarding: true,
    lastOnboardingVersion: version,
    theme: "dark",
    numStartups: 5,
    autoUpdates: false,
    customApiKeyResponses: { approved: [DUMMY_KEY.slice(-20)], rejected: [] },
    projects: Object.fromEntries(folders.map((folder) => [folder, trusted])),
  };
}

export const claudeCodeFixture: Fixture = {
  model_api: "messages",
  files: ({ home, folder, version }) => ({
    [join(home, ".claude.json")]: claudeFirstStartDone(version, [folder]),
  }),
  env: claudeEnvironment,
  command: CLAUDE_COMMAND,
  resume: ["--continue"],
  isReady: (screen) => /^❯\s*$/m.test(screen),
  dialog: {
    prompt: (forbidden, mark) =>
      `@@TOOL Write ${JSON.stringify({ file_path: forbidden, content: mark })}`,
    isOpen: (screen) => screen.includes("Do you want to create"),
    refusal: ["Escape"],
  },
  untested: { hook: "used only for sessions without a socket and a pane" },
};
