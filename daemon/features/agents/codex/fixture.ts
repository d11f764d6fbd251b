/** Codex in a home of its own: its user trusts our hooks, and is asked before an escalation. */

import { join } from "node:path";
import type { Fixture } from "../selftest/fixture.ts";

/** Its configuration, with the model behind that address, and these folders trusted. */
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

/** As its user would, once: hooks that are new run only when they are trusted. */
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
  // Its shared server outlives the terminals, unless it is stopped.
  end: (run) => run("codex", "app-server", "daemon", "stop"),
  leftovers: ({ home }) =>
    ["app-server-control", "app-server-daemon"].flatMap((name) =>
      linkTargetsIn(join(home, ".codex", name)).flatMap((target) => [target, `${target}.lock`])
    ),
  untested: { pane: "its sessions have no pane of their own: they live in one shared server" },
};

/** Where the links in a folder lead: its sockets lie in a folder that no setting moves. */
function linkTargetsIn(folder: string): string[] {
  try {
    return Array.from(Deno.readDirSync(folder)).filter(({ isSymlink }) => isSymlink)
      .map(({ name }) => Deno.readLinkSync(join(folder, name)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}
