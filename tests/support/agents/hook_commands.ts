/** The hooks that setup writes into each agent's settings, as their shell runs them. */

import { hooks as claudeCode } from "../../../daemon/features/agents/claude_code/setup.ts";
import { hooks as codex } from "../../../daemon/features/agents/codex/setup.ts";
import { hooks as copilot } from "../../../daemon/features/agents/copilot/setup.ts";
import { hooks as gemini } from "../../../daemon/features/agents/gemini/setup.ts";
import type { SetupPlan } from "../../../daemon/features/agents/install.ts";

const INSTALLERS = { "claude-code": claudeCode, codex, gemini, copilot };
export type HookedAgent = keyof typeof INSTALLERS;
export const HOOKED_AGENTS = Object.keys(INSTALLERS) as readonly HookedAgent[];

/** The command line of `sh` for each event of an agent. */
export function hookCommands(agent: HookedAgent, plan: SetupPlan): Map<string, string> {
  const { hooks } = JSON.parse(JSON.stringify(INSTALLERS[agent].install({}, plan)));
  return new Map(
    Object.entries<Record<string, unknown>[]>(hooks).map(([event, [entry]]) => {
      const found = JSON.stringify(entry).match(/"(?:command|bash)":("(?:[^"\\]|\\.)*\s[^"]*?")/);
      return [event, JSON.parse(found?.[1] ?? '""')];
    }),
  );
}
