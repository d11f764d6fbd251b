/** The script that posts hook events without starting mesh. */

import type { AgentDefinition } from "../definition.ts";
import { type Argv, shellQuote } from "../settings_files/shell_words.ts";
import { completeScript } from "../../../host/scripts/scripts.ts";
import body from "./hook.bash" with { type: "text" };

/** The first line of every such script, by which it is known. */
const FIRST_LINE = "# A hook of Agent Mesh.";

/** The text of the script of an agent; empty for an agent whose hooks are not commands. */
export function hookScript({ id, hooks }: AgentDefinition, mesh: Argv): string {
  if (!hooks) return "";
  return [
    FIRST_LINE,
    `agent=${id}`,
    `pid_variable=${hooks.pid_variable}`,
    `decision_events=${shellQuote(hooks.decision_events.join(" "))}`,
    `mesh=(${mesh.map(shellQuote).join(" ")})`,
    "",
    completeScript(body),
  ].join("\n");
}

/** The change of setup to the script's file. */
export function scriptEdit(path: string, definition: AgentDefinition, mesh: Argv) {
  const isOurs = (text: string) => text.startsWith(FIRST_LINE);
  return {
    path,
    format: "text",
    add: () => hookScript(definition, mesh),
    remove: (before: string) => isOurs(before) ? "" : before,
    isCreated: isOurs,
  } as const;
}
