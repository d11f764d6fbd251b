/** The program's entry point: runs the role named on the command line, else the CLI. */

import { getRole, ROLES } from "./cli/commands/roles.ts";

const env = Deno.env.toObject();
const role = getRole(Deno.args);
// Clients talk only to the local daemon, and a proxy set in the environment must not see that
// traffic.
if (role !== ROLES.daemon && role !== ROLES.relay) {
  const proxyVariables = Object.keys(env).filter((variable) =>
    /^(https?|all)_proxy$/i.test(variable)
  );
  for (const variable of proxyVariables) Deno.env.delete(variable);
}
const code = role
  ? await role(env, Deno.args.slice(1))
  : await (await import("./cli.ts")).runCli(Deno.args, env);
Deno.exit(code ?? 0);
