/** The kinds of agents that can be started, and the reason why the daemon starts none. */

import { Command } from "../../components/copy.tsx";
import type { Backend, SpawnConfig } from "../../state/records.ts";

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
const COMMANDS_EXAMPLE = '{"claude-code": ["claude"]}';

const FOLDER_LINE = "mesh config set spawn.allowed_paths '[\"~/work\"]'";
const COMMAND_LINE = `mesh config set spawn.commands '${COMMANDS_EXAMPLE}'`;

export function CannotStart({ config: { commands, allowed_paths } }: { config: SpawnConfig }) {
  const has_command = Object.keys(commands).length > 0;
  const reasons = [
    ...has_command ? [] : ["it finds no agent that is installed"],
    ...allowed_paths.length > 0 ? [] : ["no folder is configured"],
  ];
  const lines = [
    ...has_command ? [] : [COMMAND_LINE],
    ...allowed_paths.length > 0 ? [] : [FOLDER_LINE],
  ];
  if (lines.length === 0) {
    return <p>tmux is not installed on that machine. Install it, then open this window again.</p>;
  }
  return (
    <>
      <p>
        This daemon starts no agents:{" "}
        {reasons.join(", and ")}. For example, run these lines on its machine, then restart the
        daemon:
      </p>
      <ul class="stack">
        {lines.map((line) => (
          <li key={line}>
            <Command text={line} />
          </li>
        ))}
      </ul>
    </>
  );
}
