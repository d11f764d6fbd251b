/** The kinds of agents that this page knows; an older daemon may know fewer. */

import type { Backend } from "../../state/records.ts";

/** True if an agent of this kind can be reached in a pane. The type requires every kind. */
const IN_A_PANE: Readonly<Record<Backend, boolean>> = {
  "claude-code": true,
  codex: true,
  gemini: true,
  opencode: true,
  copilot: true,
  generic: true,
  acp: false,
  "mcp-http": false,
  sdk: false,
};

const isBackend = (key: string): key is Backend => Object.hasOwn(IN_A_PANE, key);

export const PANE_BACKENDS: readonly Backend[] = Object.keys(IN_A_PANE).filter(isBackend)
  .filter((backend) => IN_A_PANE[backend]);

/** Any other program in a pane. */
export const ANY_PROGRAM: Backend = "generic";

/** A value of `spawn.commands`, as an example. */
export const COMMANDS_EXAMPLE = '{"claude-code": ["claude"]}';
