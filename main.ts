/** What the binary runs: finds the role and loads it; what a role does not need stays unloaded. */

import { roleOf } from "./cli/roles.ts";

const env = Deno.env.toObject();
const role = roleOf(Deno.args);
const code = role
  ? await role(env, Deno.args.slice(1))
  : await (await import("./cli.ts")).runCli(Deno.args, env);
Deno.exit(code ?? 0);
