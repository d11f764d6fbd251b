/** The program's roles other than the CLI. Each role loads its modules only when it is started. */

import type { RunCommandLine } from "protocol/api/command_lines.ts";
import type { Env } from "../../daemon/host/paths.ts";

/** `runCommandLine` is for the daemon. */
type Role = (
  env: Env,
  args: string[],
  runCommandLine: RunCommandLine,
) => Promise<number | void>;

export const ROLES = {
  daemon: async (env, _args?: string[], runCommandLine?: RunCommandLine) =>
    (await import("../../daemon/app/main.ts")).runDaemon(env, runCommandLine),
  relay: async (env) => (await import("../../relay/app/main.ts")).runRelay(env),
  mcp: async (env) => {
    const [{ announceSession }, { runProxy }] = await Promise.all([
      import("./hook.ts"),
      import("./mcp_proxy.ts"),
    ]);
    await Promise.all([announceSession(env), runProxy(env)]);
  },
  hook: async (env, args) => (await import("./hook.ts")).runHook(args, env),
} as const satisfies Record<string, Role>;

/**
 * The role to start for these arguments; undefined for the CLI. `hook` accepts any arguments except
 * `--help`, because a usage error must not block an agent (contract 7). The other roles accept no
 * arguments.
 */
export function getRole([first = "", ...rest]: readonly string[]): Role | undefined {
  const isHelp = rest.length === 1 && (rest[0] === "--help" || rest[0] === "-h");
  if (isHelp || (first !== "hook" && rest.length > 0)) return undefined;
  return new Map<string, Role>(Object.entries(ROLES)).get(first);
}
