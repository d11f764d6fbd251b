/** `mesh setup`: tells the coding agents on this computer about mesh, or takes that back. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomIds, systemClock } from "kit/core/clock.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { UnreadableConfig } from "../../daemon/app/config_file.ts";
import { ensureToken } from "./token.ts";
import { type Joined, joinRelay, Unjoinable } from "./relay.ts";
import {
  applyChange,
  applyTextChange,
  type Edit,
  isThere,
  Unchangeable,
} from "../../daemon/features/agents/install.ts";
import { AGENTS } from "../../daemon/features/agents/registry.ts";

const USAGE = "mesh setup [--agent NAME] [--relay URL] [--dry-run] [--uninstall] [--json]";
const EXIT = { done: 0, refused: 1, misused: 2 } as const;

/** The agents that there is something to set up for. */
const KNOWN = AGENTS.flatMap((agent) => agent.setup ? [{ ...agent, setup: agent.setup }] : []);
type Known = typeof KNOWN[number];
const NAMES = KNOWN.map(({ id }) => id).join(", ");

function isInstalled({ programs: [program = ""], setup }: Known, env: Env): boolean {
  return isOnPath(program, env) || isThere(setup.home(env));
}

interface Wishes {
  readonly agent?: string | undefined;
  /** The relay to join; alone, it is all that is set up. */
  readonly relay?: string | undefined;
  readonly dry_run: boolean;
  readonly uninstall: boolean;
  readonly json: boolean;
}

/** What was done to one agent's files, or would be: a text for each file that differs. */
interface Done {
  readonly agent: string;
  readonly differences: readonly string[];
  readonly notice?: string;
}

/** Where sentences go: what was done, and why it was not. */
export interface Paper {
  out(text: string): void;
  err(text: string): void;
}

/** How a relay is spoken to. */
type Send = (request: Request) => Promise<Response>;

/** The exit code: 0 done, 1 refused, 2 misused (contract 7). */
export async function runSetup(
  args: readonly string[],
  env: Env,
  paper: Paper = TERMINAL,
  send: Send = fetch,
): Promise<number> {
  const wishes = readWishes(args);
  if (typeof wishes === "string") {
    paper.err(wishes);
    return EXIT.misused;
  }
  const relay = await setUpRelay(wishes, env, { paper, send });
  if (relay !== EXIT.done || (wishes.relay !== undefined && wishes.agent === undefined)) {
    return relay;
  }
  return await setUpAgents(wishes, env, paper);
}

/** Joins the relay that was named, if one was. */
async function setUpRelay(
  { relay: url, dry_run, json }: Wishes,
  env: Env,
  { paper, send }: { paper: Paper; send: Send },
): Promise<number> {
  if (url === undefined) return EXIT.done;
  try {
    const joined = await joinRelay({ env, url, dry_run, send, clock: systemClock });
    if (json) paper.out(JSON.stringify(joined, undefined, 2));
    else relaySentences(joined).forEach((text) => paper.out(text));
    return EXIT.done;
  } catch (fault) {
    if (!(fault instanceof Unjoinable || fault instanceof UnreadableConfig)) throw fault;
    paper.err(fault.message);
    return fault instanceof Unjoinable && fault.misused ? EXIT.misused : EXIT.refused;
  }
}

async function setUpAgents(wishes: Wishes, env: Env, paper: Paper): Promise<number> {
  const complain = (text: string, code: number) => (paper.err(text), code);
  const agents = KNOWN.filter((agent) =>
    wishes.agent === undefined ? isInstalled(agent, env) : wishes.agent === agent.id
  );
  if (agents.length === 0) return complain(nobody(wishes), EXIT.refused);
  try {
    const done: Done[] = [];
    for (const agent of agents) {
      const one = await setUp(agent, wishes, env);
      if (!wishes.json) sentences(one, wishes).forEach((text) => paper.out(text));
      done.push(one);
    }
    const { dry_run, uninstall } = wishes;
    const token = uninstall ? undefined : ensureToken(env, { ids: randomIds, dry_run });
    const said = { agents: done, token_written_to: token ?? null, dry_run, uninstall };
    if (wishes.json) paper.out(JSON.stringify(said, undefined, 2));
    else if (token) tokenSentences(token, dry_run).forEach((text) => paper.out(text));
  } catch (fault) {
    if (!(fault instanceof Unchangeable || fault instanceof UnreadableConfig)) throw fault;
    return complain(fault.message, EXIT.refused);
  }
  return EXIT.done;
}

/** The words that run this very program, from any folder: compiled, or from source. */
export function meshCommand(): readonly string[] {
  if (Deno.build.standalone) return [Deno.execPath()];
  const main = fileURLToPath(new URL("../../main.ts", import.meta.url));
  return [Deno.execPath(), "run", "-A", "--quiet", main];
}

function readWishes(args: readonly string[]): Wishes | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        agent: { type: "string" },
        relay: { type: "string" },
        "dry-run": { type: "boolean", default: false },
        uninstall: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
      },
    });
    const { agent, relay, uninstall, json } = values;
    if (relay !== undefined && uninstall) {
      return "--relay joins one; to leave it: `mesh config set relay.enabled false`";
    }
    if (agent !== undefined && !KNOWN.some(({ id }) => id === agent)) {
      return `--agent: one of ${NAMES}`;
    }
    return { agent, relay, uninstall, json, dry_run: values["dry-run"] };
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    return `${fault.message}\nUsage: ${USAGE}`;
  }
}

async function setUp(
  { id, setup }: Known,
  { dry_run, uninstall }: Wishes,
  env: Env,
): Promise<Done> {
  const all = await setup.edits(env, { mesh: meshCommand() });
  const apply = (edit: Edit, dry_run: boolean) => {
    const options = { dry_run, undo: uninstall };
    return "putText" in edit
      ? applyTextChange(edit.path, uninstall ? edit.takeText : edit.putText, options)
      : applyChange(edit.path, uninstall ? edit.take : edit.put, options);
  };
  // Every file is tried before any is written: a damaged second one must not leave us half in.
  const differences = all.map((edit) => apply(edit, true)).filter((text) => text !== "");
  if (!dry_run) { for (const edit of all) apply(edit, false); }
  const { notice } = setup;
  return { agent: id, differences, ...(notice && !uninstall && { notice }) };
}

function relaySentences({ relay, secret, written_to, dry_run }: Joined): string[] {
  if (dry_run) {
    const what = secret === "kept" ? "keep its secret" : "draw a secret there";
    return [`${written_to}: would join ${relay}, and ${what}`];
  }
  return [
    `${written_to}: joins ${relay} with ${
      secret === "kept" ? "the secret it had" : "a new secret"
    }`,
    "relay.secret opens this machine to whoever holds it: sign in at the relay with it, and give " +
    "it to other machines of yours alone.",
    "Next: `mesh down`, `mesh up`, and see the relay in `mesh status`.",
  ];
}

function tokenSentences(path: string, dry_run: boolean): string[] {
  if (dry_run) return [`${path}: would get a token, daemon.auth_token`];
  return [
    `${path}: has a token now, daemon.auth_token; every caller but the dashboard must send it`,
    "Next: a daemon that is up takes it with `mesh down` and `mesh up`.",
  ];
}

function sentences({ agent, differences, notice }: Done, wishes: Wishes): string[] {
  const { dry_run, uninstall } = wishes;
  if (differences.length === 0) return [`${agent}: nothing to change`];
  const head = `${agent}: ${dry_run ? "would change" : "changed"}`;
  const ends = [next(uninstall), ...(notice ? [notice] : [])];
  return [head, ...differences, ...(dry_run ? [] : ends)];
}

function next(uninstall: boolean): string {
  return uninstall
    ? "Next: restart the sessions that are open; they have read the old settings."
    : "Next: `mesh up`, then start the agent, and see it in `mesh peers`. Sessions that are " +
      "open must be restarted.";
}

function nobody({ uninstall }: Wishes): string {
  return `No agent was found to ${uninstall ? "take mesh out of" : "set up"}; known: ${NAMES}. ` +
    "Name one with --agent";
}

function isOnPath(program: string, env: Env): boolean {
  return (env["PATH"] ?? "").split(":").some((dir) => dir !== "" && isThere(join(dir, program)));
}

const TERMINAL: Paper = {
  out: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`)),
  err: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
};
