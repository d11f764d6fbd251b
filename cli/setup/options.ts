/** The options of `mesh setup`. */

import { parseArgs } from "node:util";
import { AGENT_IDS } from "./agents.ts";

const USAGE = "mesh setup [AGENT | --all] [--yes] [--diff] [--dry-run] [--name YOU] [--service] " +
  "[--relay URL] [--replace] [--uninstall] [--json]";

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

/** Returns the options, or a message about what is wrong with them. */
export function readOptions(args: readonly string[]): SetupOptions | string {
  const parsed = parse(args);
  if (typeof parsed === "string") return parsed;
  const { values, positionals: [positional, ...more] } = parsed;
  const { relay, all, name, service, yes, diff, replace, uninstall, json } = values;
  const agent = values.agent ?? positional;
  if (more.length > 0 || (values.agent !== undefined && positional !== undefined)) {
    return `Name one agent, or none\nUsage: ${USAGE}`;
  }
  if (agent !== undefined && all) return "--all cannot be used with the name of an agent";
  if (agent !== undefined && !AGENT_IDS.includes(agent)) {
    return `--agent: "${agent}" is not one of ${AGENT_IDS.join(", ")}`;
  }
  if (relay !== undefined && uninstall) {
    return "--relay cannot be used with --uninstall; to leave a relay: `mesh config set relay.enabled false`";
  }
  if (name !== undefined && uninstall) return "--name cannot be used with --uninstall";
  if (replace && uninstall) return "--replace cannot be used with --uninstall";
  const dry_run = values["dry-run"];
  return { agent, all, relay, name, service, yes, diff, dry_run, replace, uninstall, json };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        agent: { type: "string" },
        all: { type: "boolean", default: false },
        relay: { type: "string" },
        name: { type: "string" },
        service: { type: "boolean", default: false },
        yes: { type: "boolean", short: "y", default: false },
        diff: { type: "boolean", default: false },
        "dry-run": { type: "boolean", default: false },
        replace: { type: "boolean", default: false },
        uninstall: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return `${error.message}\nUsage: ${USAGE}`;
  }
}
