/** The options of `mesh setup`. */

import type { Args } from "../command/command.ts";
import { AGENT_IDS } from "./agents.ts";

export interface SetupOptions {
  /** Only this agent; undefined for the installed agents. */
  readonly agent: string | undefined;
  /** All known agents, installed or not. */
  readonly all: boolean;
  readonly relay: string | undefined;
  /** The name under which agents may ask the human. */
  readonly name: string | undefined;
  readonly service: boolean;
  /** Asks nothing. */
  readonly yes: boolean;
  readonly diff: boolean;
  readonly dry_run: boolean;
  /** Replace another program's MCP server that has our name. */
  readonly replace: boolean;
  readonly uninstall: boolean;
  readonly json: boolean;
}

/** Returns the options, or a message about options that contradict each other. */
export function readOptions(args: Args): SetupOptions | string {
  const options: SetupOptions = {
    agent: args.get("agent"),
    all: args.flag("all"),
    relay: args.get("relay"),
    name: args.get("name"),
    service: args.flag("service"),
    yes: args.flag("yes"),
    diff: args.flag("diff"),
    dry_run: args.flag("dryRun"),
    replace: args.flag("replace"),
    uninstall: args.flag("uninstall"),
    json: args.flag("json"),
  };
  const { agent, all, relay, name, replace, uninstall } = options;
  if (agent !== undefined && all) return "--all cannot be used with the name of an agent";
  if (agent !== undefined && !AGENT_IDS.includes(agent)) {
    return `--agent: "${agent}" is not one of ${AGENT_IDS.join(", ")}`;
  }
  if (relay !== undefined && uninstall) {
    return "--relay cannot be used with --uninstall; to leave a relay: `mesh config set relay.enabled false`";
  }
  if (name !== undefined && uninstall) return "--name cannot be used with --uninstall";
  if (replace && uninstall) return "--replace cannot be used with --uninstall";
  return options;
}
