/** The commands that start agents: spawn, restart, fork. */

import type { Wire } from "kit/http/client.ts";
import { Backend } from "../../daemon/features/agents/contract.ts";
import { forkPeer, type Spawned, spawnPeer } from "../../daemon/features/spawn/contract.ts";
import { restartPeer } from "../../daemon/features/spawn/restarts/contract.ts";
import { type Command, JSON_FLAG, type Session, verb, type Words } from "../command/command.ts";
import { EXIT, Misused } from "../client/failures.ts";
import { ink, print, printJson, type Terminal } from "../output/print.ts";

const CIRCLE_FLAG = { "--circle <name>": "look for the name in this circle" } as const;
const BACKEND_FLAG = { "--backend <backend>": `one of ${Backend.options.join(", ")}` } as const;
const PROFILE_FLAG = { "--profile <name>": "a profile of spawn.profiles" } as const;

export const SPAWN_COMMANDS: readonly Command[] = [
  verb({
    words: "spawn <path>",
    summary: "Start an agent in a tmux pane",
    flags: {
      ...BACKEND_FLAG,
      ...PROFILE_FLAG,
      "--name <name>": "what it is called",
      "--circle <name>": "the circle it is in",
      "--message <text>": "what it is told once it is here",
    },
    example: 'mesh spawn ~/work/api --backend claude-code --message "Begin with the tests"',
    speaks: true,
    call: spawn,
    show: (spawned, { terminal }) => showSpawned(terminal, spawned),
  }),
  {
    words: "peer restart <peer>",
    summary: "Restart an agent in its pane, with its session, once its turn has ended",
    flags: {
      ...CIRCLE_FLAG,
      "--fresh": "begin a new session instead of resuming",
      "--dry-run": "only say what would be done",
      "--no-wait": "do not wait for the end",
      "--message <text>": "what it is told once it is back",
      "--from <peer>": "who speaks",
      ...JSON_FLAG,
    },
    example: "mesh peer restart api --dry-run",
    run: restart,
  },
  verb({
    words: "peer fork <peer>",
    summary: "Start a sibling of an agent on another backend",
    flags: { ...CIRCLE_FLAG, ...BACKEND_FLAG, ...PROFILE_FLAG },
    example: "mesh peer fork api --backend codex",
    call: ({ call }, words) => {
      const params = { id: words.text("peer") };
      const circle = words.maybe("circle");
      const body = { backend: backendOf(words), profile: words.maybe("profile"), circle };
      return call(forkPeer, { params, body });
    },
    show: (spawned, { terminal }) => showSpawned(terminal, spawned),
  }),
];

/** In window mode the daemon splits the window that we are in. */
async function spawn(session: Session, words: Words): Promise<Wire<typeof spawnPeer>> {
  const { env } = session;
  const backend = backendOf(words);
  const message = words.maybe("message");
  const { peer } = await session.sender(words);
  const inside = env["TMUX_PANE"] && env["TMUX"];
  return await session.call(spawnPeer, {
    query: inside ? { tmux_socket: inside.replace(/,[^,]*,[^,]*$/, "") } : {},
    body: {
      path: pathOf(words.text("path")),
      backend,
      profile: words.maybe("profile"),
      circle: words.maybe("circle"),
      name: words.maybe("name"),
      from_peer: peer,
      ...(message !== undefined && { message: await session.said(message) }),
      ...(inside && { source_pane: env["TMUX_PANE"] }),
    },
  });
}

async function restart(session: Session, words: Words): Promise<number> {
  const { terminal } = session;
  const message = words.maybe("message");
  const from_peer = (await session.sender(words)).peer;
  const result = await session.call(restartPeer, {
    params: { id: words.text("peer") },
    body: {
      from_peer,
      circle: words.maybe("circle"),
      fresh: words.flag("fresh"),
      dry_run: words.flag("dryRun"),
      wait: words.flag("wait"),
      ...(message !== undefined && { message: await session.said(message) }),
    },
  });
  if (words.flag("json")) printJson(terminal, result);
  else showRestart(terminal, result);
  return result.outcome === "failed" ? EXIT.refused : EXIT.done;
}

function backendOf(words: Words): Backend {
  const backend = Backend.safeParse(words.maybe("backend"));
  if (backend.success) return backend.data;
  throw new Misused(`--backend: one of ${Backend.options.join(", ")}`);
}

/** Relative to where we are, which is not where the daemon is. */
function pathOf(path: string): string {
  return /^[/~]/.test(path) ? path : `${Deno.cwd()}/${path}`;
}

function showSpawned(to: Terminal, spawned: Spawned): void {
  const { display_name, spawn_id, tmux_session, pane_id, registration_state } = spawned;
  const { seed_state, warnings } = spawned;
  const where = `  ${registration_state}, tmux ${tmux_session} ${pane_id}  `;
  print(to, ink("bold", display_name), where, ink("dim", spawn_id));
  if (seed_state !== null) print(to, `message: ${seed_state}`);
  for (const warning of warnings) print(to, ink("yellow", warning));
}

function showRestart(to: Terminal, result: Wire<typeof restartPeer>): void {
  const { outcome, failed, stages, would_run, resume_mode, restart_id } = result;
  const good = outcome !== "failed";
  const walked = stages.map(({ stage }) => stage).join(" → ");
  print(to, ink(good ? "green" : "red", outcome), `  ${walked}  `, ink("dim", restart_id));
  if (failed) print(to, `${failed.stage}: ${failed.reason}: ${failed.detail}`);
  if (would_run) print(to, ink("dim", `${resume_mode}: `), would_run.join(" "));
}
