/** The agents that `mesh setup` can set up, and the changes to their files. */

import { join } from "kit/core/path.ts";
import type { Env } from "../../daemon/host/paths.ts";
import {
  applyChange,
  applyTextChange,
  type Edit,
  exists,
} from "../../daemon/features/agents/install.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";
import { Unchangeable } from "../../daemon/features/agents/settings_files/json.ts";

/** The agents that can be set up. */
const SETUP_AGENTS = AGENTS.flatMap((agent) =>
  agent.setup ? [{ ...agent, setup: agent.setup }] : []
);
export type SetupAgent = typeof SETUP_AGENTS[number];

export const AGENT_IDS: readonly string[] = SETUP_AGENTS.map(({ id }) => id);

/** The changes to one agent's files, made or planned. */
export interface AgentResult {
  readonly agent: string;
  /** For each changed file, its path and the changed lines. */
  readonly differences: readonly string[];
  /** What the user has to do after setup. */
  readonly notice?: string;
  /** Why no file of this agent was changed. */
  readonly error?: string;
}

interface AgentChoice {
  readonly agent: string | undefined;
  readonly all: boolean;
}

/** The named agent, all that are known, or those that are installed. */
export function chosenAgents({ agent, all }: AgentChoice, env: Env): readonly SetupAgent[] {
  if (agent !== undefined) return SETUP_AGENTS.filter(({ id }) => id === agent);
  return all ? SETUP_AGENTS : SETUP_AGENTS.filter((agent) => isInstalled(agent, env));
}

function isInstalled({ programs: [program = ""], setup }: SetupAgent, env: Env): boolean {
  return isOnPath(program, env) || exists(setup.home(env));
}

function isOnPath(program: string, env: Env): boolean {
  return (env["PATH"] ?? "").split(":").some((dir) => dir !== "" && exists(join(dir, program)));
}

interface AgentSetupOptions {
  readonly dry_run: boolean;
  readonly uninstall: boolean;
  /** The command that the agents call. */
  readonly mesh: readonly string[];
}

/**
 * Changes the files of one agent. A file that cannot be changed is reported in the result, and then
 * no file of this agent is changed.
 */
export async function setUpAgent(
  { id, setup }: SetupAgent,
  { dry_run, uninstall, mesh }: AgentSetupOptions,
  env: Env,
): Promise<AgentResult> {
  const apply = (edit: Edit, dry_run: boolean) => {
    const options = { dry_run, undo: uninstall };
    return "addText" in edit
      ? applyTextChange(edit.path, uninstall ? edit.removeText : edit.addText, options)
      : applyChange(edit.path, uninstall ? edit.remove : edit.add, options);
  };
  try {
    const all = await setup.edits(env, { mesh });
    // Tries every edit first, so that a damaged file does not leave the agent half set up.
    const differences = all.map((edit) => apply(edit, true)).filter((text) => text !== "");
    if (!dry_run) { for (const edit of all) apply(edit, false); }
    const { notice } = setup;
    return { agent: id, differences, ...(notice && !uninstall && { notice }) };
  } catch (error) {
    if (!(error instanceof Unchangeable)) throw error;
    return { agent: id, differences: [], error: error.message };
  }
}
