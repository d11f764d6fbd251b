/** The command that the agents call, which must outlive a package cache. */

import type { Env } from "../../daemon/host/paths.ts";
import { VERSION } from "kit/core/version.ts";
import { cachedWord, isInPackageCache, meshCommand, programsOnPath } from "../client/program.ts";
import { versionOf } from "../client/program_version.ts";
import { INSTALL_COMMAND } from "./installations.ts";

interface AgentCommand {
  readonly command: readonly string[];
  /** Set if the command lies in a package cache. */
  readonly warning?: string;
  /** Set if the command replaces one in a package cache, with the reason. */
  readonly note?: string;
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
  if (cachedWord(own) === undefined) return { command: own, is_cached: false };
  const why = "this mesh runs from a package cache that may be emptied";
  for (const path of programsOnPath("mesh", env)) {
    const isCached = isInPackageCache(Deno.realPathSync(path));
    if (isCached || await versionOf(path, env) !== VERSION) continue;
    if (!replace) {
      return { command: own, is_cached: true, warning: `${why}. Run instead: ${path} setup` };
    }
    const note = `the agents call ${path}, because ${why}`;
    return { command: [path], is_cached: false, note };
  }
  const warning = `${why}, and the agents would lose it then. Install it first: ` +
    `${INSTALL_COMMAND}, then run: mesh setup`;
  return { command: own, is_cached: true, warning };
}
