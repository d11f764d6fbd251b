/** What the binary runs: finds the role and loads it; what a role does not need stays unloaded. */

import { roleOf, ROLES } from "./cli/commands/roles.ts";

const env = Deno.env.toObject();
const role = roleOf(Deno.args);
// A client speaks to the daemon alone: the proxy of a shell or an agent is not to see any of it.
if (role !== ROLES.daemon && role !== ROLES.relay) {
  const proxies = Object.keys(env).filter((variable) => /^(https?|all)_proxy$/i.test(variable));
  for (const variable of proxies) Deno.env.delete(variable);
}
const code = role
  ? await role(env, Deno.args.slice(1))
  : await (await import("./cli.ts")).runCli(Deno.args, env);
Deno.exit(code ?? 0);
