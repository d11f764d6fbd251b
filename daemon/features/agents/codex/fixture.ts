/** Codex's self-test fixture: a home of its own with trusted hooks; escalations need approval. */

import { join } from "kit/core/path.ts";
import type { Fixture } from "../selftest/fixture.ts";
import { unlessMissing } from "kit/host/file_errors.ts";

/** A configuration that uses the model at this address and trusts these folders. */
export function codexConfig(model_url: string, folders: readonly string[]): string {
  const trusted = folders.map((folder) => `[projects."${folder}"]\ntrust_level = "trusted"\n`);
  return CONFIG.replace("URL", model_url) + trusted.join("");
}

const CONFIG = `model = "scripted"
model_provider = "scripted"
approval_policy = "on-request"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false # A remark that stays.
[model_providers.scripted]
name = "scripted"
base_url = "URL"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[analytics]
enabled = false
`;

/** The key that answers the question whether to trust new hooks, which a user answers once. */
export function codexStartKey(screen: string): string | undefined {
  if (screen.includes("› 1. Review hooks")) return "2";
  return screen.includes("› 2. Trust all and continue") ? "Enter" : undefined;
}

export const codexFixture: Fixture = {
  model_api: "responses",
  files: ({ home, folder }, model_url) => ({
    [join(home, ".codex", "config.toml")]: codexConfig(model_url, [folder]),
  }),
  env: () => ({ SCRIPTED_KEY: "none" }),
  command: ["codex"],
  resume: ["resume", "--last"],
  isReady: (screen) => /^› Ask Codex to do anything/m.test(screen),
  atStart: codexStartKey,
  dialog: {
    prompt(forbidden, mark) {
      const approvalArgs = { sandbox_permissions: "require_escalated", justification: mark };
      return `@@TOOL exec_command ${
        JSON.stringify({ cmd: `touch ${forbidden}`, ...approvalArgs })
      }`;
    },
    isOpen: (screen) => screen.includes("Would you like to run"),
    refusal: ["Escape"],
  },
  // The shared server outlives the terminals until it is stopped.
  end: (run) => run("codex", "app-server", "daemon", "stop"),
  leftovers: ({ home }) =>
    ["app-server-control", "app-server-daemon"].flatMap((name) =>
      linkTargetsIn(join(home, ".codex", name)).flatMap((target) => [target, `${target}.lock`])
    ),
  untested: { pane: "its sessions have no pane of their own: one shared server runs them" },
};

/**
 * The targets of the links in a folder. Such links lead to Codex's sockets, which are in a folder
 * that no setting moves.
 */
function linkTargetsIn(folder: string): string[] {
  const entries = unlessMissing(() => [...Deno.readDirSync(folder)]) ?? [];
  return entries.filter(({ isSymlink }) => isSymlink)
    .map(({ name }) => Deno.readLinkSync(join(folder, name)));
}
