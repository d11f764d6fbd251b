/** `mesh spawn`, `mesh peer restart` and `mesh peer fork`: the commands that start agents. */

import type { WireResponse } from "kit/http/client.ts";
import { Backend } from "protocol/agents/contract.ts";
import { forkPeer, restartPeer, spawnPeer } from "protocol/generated/endpoints.ts";
import type { Spawned } from "protocol/spawn/contract.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../command/command.ts";
import { tmuxSocketOf } from "../../daemon/host/terminal_addresses.ts";
import { EXIT } from "../client/failures.ts";
import { showFirstWait } from "./waiting/spawn_wait.ts";
import { styled, type Terminal } from "../output/terminal.ts";

const BACKEND_FLAG = { "--backend <backend>": `one of ${Backend.options.join(", ")}` } as const;
export const PROFILE_FLAG = { "--profile <name>": "a profile from spawn.profiles" } as const;

export const START_WAIT_FLAG = {
  "--wait": "wait up to 30 s for the agent to register, and say if it waits for its user",
} as const;

export const SPAWN_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "spawn <path>",
    summary: "Start an agent in a tmux pane",
    flags: {
      ...BACKEND_FLAG,
      ...PROFILE_FLAG,
      "--name <name>": "the peer's name",
      "--circle <name>": "the circle it joins",
      "--message <text>": "send this once the agent has started",
      "--lease <lease> ...":
        "lease this for the agent until it ends, such as port:web, db or gpu:0: it is in the " +
        "agent's environment as MESH_LEASE_PORT_WEB",
      ...START_WAIT_FLAG,
    },
    example: 'mesh spawn ~/work/api --backend claude-code --message "Start with the tests"',
    hasSender: true,
    call: spawn,
    show: showStarted,
  }),
  answerCommand({
    usage: "peer restart <peer>",
    summary: "Restart an agent in its pane after its turn, and resume its session",
    flags: {
      ...CIRCLE_FLAG,
      "--fresh": "start a new session instead of resuming",
      "--dry-run": "show what would be done, without doing it",
      "--no-wait": "do not wait for the restart to finish",
      "--message <text>": "send this once the agent is back",
    },
    example: "mesh peer restart api --dry-run",
    hasSender: true,
    call: restart,
    show: (result, { terminal }) => showRestart(terminal, result),
    exitCode: ({ outcome }) => outcome === "failed" ? EXIT.refused : EXIT.done,
  }),
  answerCommand({
    usage: "peer fork <peer>",
    summary: "Start an agent of another kind in the same folder, without the conversation",
    flags: { ...CIRCLE_FLAG, ...BACKEND_FLAG, ...PROFILE_FLAG, ...START_WAIT_FLAG },
    example: "mesh peer fork api --backend codex",
    call: async (context, args) => {
      const params = { id: args.text("peer") };
      const backend = args.requiredChoice("backend", Backend.options);
      const body = { backend, profile: args.get("profile"), ...await context.lookup(args) };
      return await context.call(forkPeer, { params, body });
    },
    show: showStarted,
  }),
];

/**
 * Spawns an agent. The request names the current pane, because in window mode the daemon splits the
 * window of that pane.
 */
async function spawn(context: CommandContext, args: Args): Promise<WireResponse<typeof spawnPeer>> {
  const backend = args.requiredChoice("backend", Backend.options);
  const start = await startFields(context, args);
  const { query, source_pane } = ownPane(context);
  const path = context.absolutePath(args.text("path"));
  const leases = args.list("lease");
  const body = { ...start, path, backend, source_pane, ...(leases.length > 0 && { leases }) };
  return await context.call(spawnPeer, { query, body });
}

/** The fields of a request that starts an agent, by the flags of the commands that do. */
export async function startFields(context: CommandContext, args: Args) {
  const from_peer = (await context.sender(args)).peer;
  const [profile, circle, name] = [args.get("profile"), args.get("circle"), args.get("name")];
  const message = await context.readText(args.get("message"));
  return { from_peer, profile, circle, name, message };
}

/** The pane of this process, beside which an agent is started if circles are windows. */
export function ownPane({ env, machine }: CommandContext) {
  const isInPane = machine === undefined && env["TMUX_PANE"];
  const tmux_socket = isInPane ? tmuxSocketOf(env) : undefined;
  return {
    query: tmux_socket ? { tmux_socket } : {},
    source_pane: tmux_socket ? env["TMUX_PANE"] : undefined,
  };
}

async function restart(context: CommandContext, args: Args) {
  const from_peer = (await context.sender(args)).peer;
  return await context.call(restartPeer, {
    params: { id: args.text("peer") },
    body: {
      from_peer,
      circle: args.get("circle"),
      fresh: args.flag("fresh"),
      dry_run: args.flag("dryRun"),
      wait: args.flag("wait"),
      message: await context.readText(args.get("message")),
    },
  });
}

/** Maximum time for which a terminal waits to see if a started agent needs its user. */
const FIRST_WAIT_MS_MAX = 5_000;
/** Maximum time for which a command waits for a started agent to register. */
export const REGISTERED_MS_MAX = 30_000;

/** Prints a spawn, and then what its agent waits for at its start, if it does. */
export async function showStarted(
  spawned: Spawned,
  context: CommandContext,
  args: Args,
): Promise<void> {
  const { terminal } = context;
  showSpawned(terminal, spawned);
  const isWanted = args.flag("wait");
  if (!isWanted && !terminal.device.progress) return;
  await showFirstWait(context, spawned, isWanted ? REGISTERED_MS_MAX : FIRST_WAIT_MS_MAX);
}

function showSpawned(to: Terminal, spawned: Spawned): void {
  const { display_name, spawn_id, tmux_session, pane_id, registration_state } = spawned;
  const { seed_state, warnings } = spawned;
  const location = `  ${registration_state}, tmux ${tmux_session} ${pane_id}  `;
  to.print(styled("bold", display_name), location, styled("dim", spawn_id));
  if (seed_state !== null) to.print(`message: ${seed_state}`);
  for (const warning of warnings) to.print(styled("yellow", warning));
}

export function showRestart(to: Terminal, result: WireResponse<typeof restartPeer>): void {
  const { outcome, failed, stages, would_run, resume_mode, restart_id } = result;
  const succeeded = outcome !== "failed";
  const stagePath = stages.map(({ stage }) => stage).join(" → ");
  to.print(
    styled(succeeded ? "green" : "red", outcome),
    `  ${stagePath}  `,
    styled("dim", restart_id),
  );
  if (failed) to.print(`${failed.stage}: ${failed.reason}: ${failed.detail}`);
  if (would_run) to.print(styled("dim", `${resume_mode}: `), would_run.join(" "));
}
