/** The options of `mesh setup`. */

import type { Args } from "../command/command.ts";
import { AGENT_IDS, agentIdOf, STATUS_LINE_AGENTS } from "./agents.ts";

export type SetupOptions = ReturnType<typeof optionsOf>;

function optionsOf(args: Args) {
  return {
    /** Only this agent; undefined for the installed agents. */
    agent: agentIdOf(args.get("agent")),
    /** All known agents, installed or not. */
    all: args.flag("all"),
    relay: args.get("relay"),
    /** The name under which agents may ask the human. */
    name: args.get("name"),
    service: args.flag("service"),
    /** Asks nothing. */
    yes: args.flag("yes"),
    diff: args.flag("diff"),
    dry_run: args.flag("dryRun"),
    /** Replace another program's MCP server that has our name. */
    replace: args.flag("replace"),
    /** Add a status line to Claude Code, which reports the use of a plan to it alone. */
    status_line: args.flag("statusLine"),
    uninstall: args.flag("uninstall"),
    json: args.flag("json"),
  } as const;
}

/** Returns the options, or a message about options that contradict each other. */
export function readOptions(args: Args): SetupOptions | string {
  const options = optionsOf(args);
  const { agent, all, relay, name, replace, status_line, uninstall } = options;
  if (agent !== undefined && all) return "--all cannot be used with the name of an agent";
  if (agent !== undefined && !AGENT_IDS.includes(agent)) {
    return `"${agent}" is no agent that mesh can set up; name one of ${AGENT_IDS.join(", ")}`;
  }
  if (relay !== undefined && uninstall) {
    return "--relay cannot be used with --uninstall; to leave a relay: `mesh config set relay.enabled false`";
  }
  if (name !== undefined && uninstall) return "--name cannot be used with --uninstall";
  if (replace && uninstall) return "--replace cannot be used with --uninstall";
  if (status_line && uninstall) return "--status-line cannot be used with --uninstall";
  if (status_line && agent !== undefined && STATUS_LINE_AGENTS.every(({ id }) => id !== agent)) {
    const titles = STATUS_LINE_AGENTS.map(({ title }) => title).join(", ");
    return `--status-line is for ${titles}, and cannot be used with --agent ${agent}`;
  }
  return options;
}
