/** The reason why the daemon starts no agents, and the configuration that changes it. */

import { Copy } from "../../components/copy.tsx";
import { COMMANDS_EXAMPLE } from "./agents.ts";
import type { SpawnConfig } from "../../state/records.ts";

const FOLDER_LINE = "mesh config set spawn.allowed_paths '[\"~/work\"]'";
const COMMAND_LINE = `mesh config set spawn.commands '${COMMANDS_EXAMPLE}'`;

export function CannotStart({ config: { commands, allowed_paths } }: { config: SpawnConfig }) {
  const has_command = Object.keys(commands).length > 0;
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
        This daemon starts no agents: {!has_command && "no command"}
        {lines.length === 2 && " and "}
        {allowed_paths.length === 0 && "no folder"}{" "}
        is configured. For example, run these lines on its machine, then restart the daemon:
      </p>
      <ul class="steps">
        {lines.map((line) => (
          <li key={line}>
            <code>{line}</code>
            <Copy text={line} />
          </li>
        ))}
      </ul>
    </>
  );
}
