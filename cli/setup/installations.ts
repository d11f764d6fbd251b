/** The commands that install and remove mesh, for each way of installation (docs/install.md). */

import type { Installation } from "../client/program.ts";

/** Installs mesh permanently. */
export const INSTALL_COMMAND = "npm install -g agent-mesh";

export const UPDATE_COMMANDS: Readonly<Record<Installation, string>> = {
  npm: "npm install -g agent-mesh@latest",
  homebrew: "brew upgrade agent-mesh",
  executable: "run install.sh of the newest release again",
  sources: "git pull && deno task install",
};

/** The command that removes the program at a path. */
export const REMOVE_COMMANDS: Readonly<Record<Installation, (program: string) => string>> = {
  npm: () => "npm uninstall -g agent-mesh",
  homebrew: () => "brew uninstall agent-mesh",
  executable: (program) => `rm "${program}"`,
  sources: () => "deno uninstall -g mesh, then remove the sources",
};
