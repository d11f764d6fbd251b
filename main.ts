/** What the binary runs: finds the role and loads it; what a role does not need stays unloaded. */

import { getRole, ROLES } from "./cli/commands/roles.ts";

const env = Deno.env.toObject();
const role = getRole(Deno.args);
// A client speaks to the daemon alone: the proxy of a shell or an agent is not to see any of it.
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
