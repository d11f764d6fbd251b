/** The command that the agents call, which must outlive a package cache. */

import type { Env } from "../../daemon/host/paths.ts";
import { VERSION } from "kit/core/version.ts";
import { cachedWord, isInPackageCache, meshCommand, programsOnPath } from "../client/program.ts";
import { INSTALL_COMMAND } from "./installations.ts";

interface AgentCommand {
  readonly command: readonly string[];
  /** Set if the command lies in a package cache, or replaces one that does. */
  readonly warning?: string;
  /** True if the hooks fail once a package manager empties its cache. */
  readonly is_cached: boolean;
}

interface LastingOptions {
  /** If true, an installed mesh of this version replaces a command in a package cache. */
  readonly replace: boolean;
  /** The command that runs this program. */
  readonly own?: readonly string[];
}

/** Finds the command for the agents. */
export async function lastingCommand(
  env: Env,
  { replace, own = meshCommand() }: LastingOptions,
): Promise<AgentCommand> {
  const cached = cachedWord(own);
  if (cached === undefined) return { command: own, is_cached: false };
  const why = `mesh runs from a package cache, "${cached}", which may be emptied`;
  for (const path of programsOnPath("mesh", env)) {
    if (isInPackageCache(Deno.realPathSync(path)) || !await isThisVersion(path)) continue;
    if (!replace) {
      return { command: own, is_cached: true, warning: `${why}. Run instead: ${path} setup` };
    }
    const warning = `${why}; the agents will call ${path} instead`;
    return { command: [path], is_cached: false, warning };
  }
  const warning = `${why}: then every hook fails. Install it permanently first: ` +
    `${INSTALL_COMMAND}, then run: mesh setup`;
  return { command: own, is_cached: true, warning };
}

async function isThisVersion(path: string): Promise<boolean> {
  const { success, stdout } = await new Deno.Command(path, { args: ["--version"], stderr: "null" })
    .output();
  return success && new TextDecoder().decode(stdout).trim() === VERSION;
}
