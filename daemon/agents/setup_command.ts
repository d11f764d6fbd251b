/** `mesh setup`: tells the coding agents on this computer about mesh, or takes that back. */

import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { randomIds, systemClock } from "kit/clock.ts";
import type { Env } from "../places.ts";
import { UnreadableConfig } from "../config_file.ts";
import { ensureToken } from "../token.ts";
import { type Joined, joinRelay, Unjoinable } from "../uplink_setup.ts";
import { claudeJson, configDir } from "./claude_code/registry.ts";
import { installHooks, installMcp, removeHooks, removeMcp } from "./claude_code/setup.ts";
import { installCodexHooks, installServer, removeCodexHooks, removeServer } from "./codex/setup.ts";
import { codexHome } from "./codex/threads.ts";
import { configDir as copilotDir } from "./copilot/sessions.ts";
import * as copilot from "./copilot/setup.ts";
import { configDir as geminiDir } from "./gemini/sessions.ts";
import { install as installGemini, remove as removeGemini } from "./gemini/setup.ts";
import {
  applyChange,
  applyTextChange,
  type Change,
  type SetupPlan,
  type TextChange,
  Unchangeable,
} from "./install.ts";
import * as opencode from "./opencode/setup.ts";

const USAGE = "mesh setup [--agent NAME] [--relay URL] [--dry-run] [--uninstall] [--json]";
const EXIT = { done: 0, refused: 1, misused: 2 } as const;

/** One file of an agent's, and what we change in it: a JSON object, or any text. */
type Edit =
  | { readonly path: string; readonly put: Change; readonly take: Change }
  | { readonly path: string; readonly putText: TextChange; readonly takeText: TextChange };

/** A kind of agent that mesh knows how to set up. */
interface Known {
  readonly name: string;
  isInstalled(env: Env): boolean;
  /** What its user still has to do once it was set up. */
  readonly notice?: string;
  edits(env: Env, plan: SetupPlan): readonly Edit[];
}

const KNOWN: readonly Known[] = [
  {
    name: "claude-code",
    isInstalled: (env) => isOnPath("claude", env) || isThere(configDir(env)),
    edits: (env, plan) => [
      {
        path: join(configDir(env), "settings.json"),
        put: (settings) => installHooks(settings, plan),
        take: removeHooks,
      },
      { path: claudeJson(env), put: (json) => installMcp(json, plan), take: removeMcp },
    ],
  },
  {
    name: "codex",
    isInstalled: (env) => isOnPath("codex", env) || isThere(codexHome(env)),
    notice: 'Codex runs new hooks only once you trust them: start it, and at "Hooks need review" ' +
      "look at them and trust them. Until then it is not in `mesh peers`.",
    edits: (env, plan) => [
      {
        path: join(codexHome(env), "hooks.json"),
        put: (hooks) => installCodexHooks(hooks, plan),
        take: removeCodexHooks,
      },
      {
        path: join(codexHome(env), "config.toml"),
        putText: (toml) => installServer(toml, plan),
        takeText: removeServer,
      },
    ],
  },
  {
    name: "opencode",
    isInstalled: (env) => isOnPath("opencode", env) || isThere(opencode.configDir(env)),
    edits: (env, plan) => [
      {
        path: join(opencode.configDir(env), "plugin", "mesh.js"),
        putText: opencode.installPlugin,
        takeText: opencode.removePlugin,
      },
      ...opencodeSettings(env, plan),
    ],
  },
  {
    name: "gemini",
    isInstalled: (env) => isOnPath("gemini", env) || isThere(geminiDir(env)),
    edits: (env, plan) => [{
      path: join(geminiDir(env), "settings.json"),
      put: (settings) => installGemini(settings, plan),
      take: removeGemini,
    }],
  },
  {
    name: "copilot",
    isInstalled: (env) => isOnPath("copilot", env) || isThere(copilotDir(env)),
    edits: (env, plan) => [
      {
        path: join(copilotDir(env), "settings.json"),
        put: (settings) => copilot.installHooks(settings, plan),
        take: copilot.removeHooks,
      },
      {
        path: join(copilotDir(env), "mcp-config.json"),
        put: (config) => copilot.installMcp(config, plan),
        take: copilot.removeMcp,
      },
    ],
  },
];

/** opencode reads all of these, one over the other: ours stands in one of those that are there. */
function opencodeSettings(env: Env, { mesh }: SetupPlan): Edit[] {
  const folder = opencode.configDir(env);
  const names = ["opencode.json", "opencode.jsonc"].map((name) => join(folder, name));
  const there = names.filter(isThere);
  const settings = there.length > 0 ? there : names.slice(0, 1);
  return settings.map((path, at) => ({
    path,
    putText: (text) => at === 0 ? opencode.installServer(text, mesh) : opencode.removeServer(text),
    takeText: opencode.removeServer,
  }));
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
  return setUpAgents(wishes, env, paper);
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

function setUpAgents(wishes: Wishes, env: Env, paper: Paper): number {
  const complain = (text: string, code: number) => (paper.err(text), code);
  const agents = KNOWN.filter(({ name, isInstalled }) =>
    wishes.agent === undefined ? isInstalled(env) : wishes.agent === name
  );
  if (agents.length === 0) return complain(nobody(wishes), EXIT.refused);
  try {
    const done = agents.map((agent) => {
      const one = setUp(agent, wishes, env);
      if (!wishes.json) sentences(one, wishes).forEach((text) => paper.out(text));
      return one;
    });
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
    if (agent !== undefined && !KNOWN.some(({ name }) => name === agent)) {
      return `--agent: one of ${KNOWN.map(({ name }) => name).join(", ")}`;
    }
    return { agent, relay, uninstall, json, dry_run: values["dry-run"] };
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
    return `${fault.message}\nUsage: ${USAGE}`;
  }
}

function setUp({ name, notice, edits }: Known, { dry_run, uninstall }: Wishes, env: Env): Done {
  const all = edits(env, { mesh: meshCommand() });
  const apply = (edit: Edit, dry_run: boolean) => {
    const options = { dry_run, undo: uninstall };
    return "putText" in edit
      ? applyTextChange(edit.path, uninstall ? edit.takeText : edit.putText, options)
      : applyChange(edit.path, uninstall ? edit.take : edit.put, options);
  };
  // Every file is tried before any is written: a damaged second one must not leave us half in.
  const differences = all.map((edit) => apply(edit, true)).filter((text) => text !== "");
  if (!dry_run) { for (const edit of all) apply(edit, false); }
  return { agent: name, differences, ...(notice && !uninstall && { notice }) };
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
  const known = KNOWN.map(({ name }) => name).join(", ");
  return `No agent was found to ${uninstall ? "take mesh out of" : "set up"}; known: ${known}. ` +
    "Name one with --agent";
}

function isOnPath(program: string, env: Env): boolean {
  return (env["PATH"] ?? "").split(":").some((dir) => dir !== "" && isThere(join(dir, program)));
}

function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

const TERMINAL: Paper = {
  out: (text) => void Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`)),
  err: (text) => void Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`)),
};
