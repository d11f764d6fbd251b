/** What the binary runs: finds the role and loads it; what a role does not need stays unloaded. */

import { roleOf } from "./cli/roles.ts";

const env = Deno.env.toObject();
const role = roleOf(Deno.args);
// The daemon is ours to reach: the proxy of a shell or an agent is not to see what it is told.
for (const variable of Object.keys(env)) {
  if (/^(https?|all)_proxy$/i.test(variable)) Deno.env.delete(variable);
}
const code = role
  ? await role(env, Deno.args.slice(1))
  : await (await import("./cli.ts")).runCli(Deno.args, env);
Deno.exit(code ?? 0);
