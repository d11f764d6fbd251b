/** The commands that install, update and remove mesh, for each way of installation (docs/install.md). */

import { dirname } from "kit/core/path.ts";
import { shellQuote } from "../../daemon/features/agents/settings_files/shell_words.ts";
import type { Installation } from "../client/program.ts";

/** Installs mesh permanently. */
export const INSTALL_COMMAND = "npm install -g agent-mesh";

/** How to update and to remove a mesh; each names the folder in which it lies. */
interface Commands {
  readonly update: string;
  readonly remove: string;
}

export function commandsFor(installation: Installation): Commands {
  const { kind, program } = installation;
  if (kind === "npm") return npmCommands(program);
  if (kind === "homebrew") {
    return { update: "brew upgrade agent-mesh", remove: "brew uninstall agent-mesh" };
  }
  if (kind === "executable") {
    const folder = shellQuote(dirname(program));
    return {
      update:
        `run install.sh of the newest release again: MESH_INSTALL_DIR=${folder} sh install.sh`,
      remove: `rm ${shellQuote(program)}`,
    };
  }
  return sourcesCommands(installation);
}

/** Package managers that have npm's packages, by a part of their path. */
function npmCommands(program: string): Commands {
  const prefix = /^(.*?)(\/lib)?\/node_modules\//.exec(program)?.[1] ?? "";
  if (program.includes("/pnpm/")) return packageCommands("pnpm add -g", "pnpm remove -g");
  if (program.includes("/.bun/")) return packageCommands("bun add -g", "bun remove -g");
  const isGlobal = program.includes("/lib/node_modules/");
  const options = `${isGlobal ? "-g " : ""}--prefix ${shellQuote(prefix)}`;
  return packageCommands(`npm install ${options}`, `npm uninstall ${options}`);
}

function packageCommands(add: string, remove: string): Commands {
  return { update: `${add} agent-mesh@latest`, remove: `${remove} agent-mesh` };
}

function sourcesCommands({ program, installed }: Installation): Commands {
  if (!installed) {
    const remove = "remove the sources";
    return { update: "git pull in the folder of the sources", remove };
  }
  const { sources, deno, folder } = installed;
  const [from, to] = [shellQuote(sources), shellQuote(dirname(program))];
  return {
    update: `cd ${from} && git pull && npx -y deno@${deno} task install --to ${to}`,
    remove: `rm ${shellQuote(program)} && rm -r ${shellQuote(dirname(folder))}`,
  };
}
