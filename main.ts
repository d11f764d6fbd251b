/** The program's entry point: runs the role named on the command line, else the CLI. */

import { getRole } from "./cli/commands/roles.ts";

const env = Deno.env.toObject();
const role = getRole(Deno.args);
// Calls on this machine must not pass a proxy, for which Deno has rules of its own. What goes to
// servers outside reads the variables in `env` (kit/net/outgoing/).
const proxyVariables = Object.keys(env).filter((variable) =>
  /^(https?|all)_proxy$/i.test(variable)
);
for (const variable of proxyVariables) Deno.env.delete(variable);
const code = role
  ? await role(env, Deno.args.slice(1))
  : await (await import("./cli.ts")).runCli(Deno.args, env);
Deno.exit(code ?? 0);
