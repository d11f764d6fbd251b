/** The program's entry point: runs the role named on the command line, else the CLI. */

import { getRole } from "./cli/programs/roles.ts";
import type { RunCommandLine } from "protocol/api/command_lines.ts";

const env = Deno.env.toObject();
const role = getRole(Deno.args);
// Calls on this machine must not go through a proxy, and Deno applies the variables by its own
// rules. Connections to external servers read them from `env` (kit/net/outgoing/).
const proxyVariables = Object.keys(env).filter((variable) =>
  /^(https?|all)_proxy$/i.test(variable)
);
for (const variable of proxyVariables) Deno.env.delete(variable);
// Loaded with the first line that the daemon runs for another process.
const runCommandLine: RunCommandLine = async (line, caller) =>
  await (await import("./cli/commands/daemon/served_command.ts")).runForProcess(line, caller);
const code = role
  ? await role(env, Deno.args.slice(1), runCommandLine)
  : await (await import("./cli.ts")).runCli(Deno.args, env);
Deno.exit(code ?? 0);
