/** All kinds of agents. To add a kind, add its folder and a line here. */

import { basename } from "kit/core/path.ts";
import type { AgentDefinition } from "./definition.ts";
import { claudeCode } from "./claude_code/agent.ts";
import { codex } from "./codex/agent.ts";
import { copilot } from "./copilot/agent.ts";
import { gemini } from "./gemini/agent.ts";
import { generic } from "./generic/agent.ts";
import { opencode } from "./opencode/agent.ts";

export const AGENTS: readonly AgentDefinition[] = [
  claudeCode,
  codex,
  copilot,
  gemini,
  opencode,
  generic,
];

/** The definition of an agent; undefined for any other id, such as the backend of a script. */
export function definitionOf(id: string | null | undefined): AgentDefinition | undefined {
  return AGENTS.find((agent) => agent.id === id);
}

/** The agent that a process runs, by its name, its program or the script of its program. */
export function agentOfCommand(
  command: string,
  [program = "", script = ""]: readonly string[] = [],
): AgentDefinition | undefined {
  const namesIn = (text: string) => [basename(text).replace(/\.[a-z]+$/, ""), ...text.split("/")];
  const names = [command, program, script].flatMap(namesIn);
  return AGENTS.find(({ programs }) => programs.some((program) => names.includes(program)));
}
