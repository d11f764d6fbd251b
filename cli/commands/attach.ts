/** `mesh attach`: shows an agent's tmux pane in this terminal, or brings its kitty window to front. */

import type { WireResponse } from "kit/http/client.ts";
import { getPeer, listOrphans, peerByPane } from "protocol/generated/endpoints.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { kindOf, socketPathOf, tmuxSocketOf } from "../../daemon/host/terminal_addresses.ts";
import { runOnTerminal } from "../client/editor.ts";
import { undefinedOnRefusal } from "../client/daemon_client.ts";
import { CommandError } from "../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../command/command.ts";

const HINT_MS = 6_000;

export const ATTACH_COMMAND: Command = answerCommand({
  usage: "attach <peer>",
  needs: "this machine",
  summary: "Show a peer's tmux pane in this terminal; leave it with tmux's prefix and d",
  details:
    "A pane id of tmux, such as %3, shows that pane, even if no peer has it yet. A peer in a " +
    "kitty window is not shown here: kitty brings its window to the front.",
  flags: { ...CIRCLE_FLAG, "--print": "print the command instead of running it" },
  example: "mesh attach api",
  call: findPane,
  show: async ({ command }, { terminal, env }, args) => {
    if (args.flag("print")) return terminal.print(command.map(quote).join(" "));
    await showPane(command, env);
  },
});

async function findPane(context: CommandContext, args: Args) {
  const id = args.text("peer");
  const pane = /^%\d+$/.test(id)
    ? await orphanPane(context, id)
    : await context.call(getPeer, { params: { id }, query: { circle: args.get("circle") } });
  return paneOf(pane, context.env, { onlyPrints: args.flag("print") || args.flag("json") });
}

type PeerPane = Pick<WireResponse<typeof getPeer>, "name" | "pane_id" | "tmux_socket"> & {
  readonly peer_id: string | null;
};

/** A pane by its id: that of a peer, or one in which an agent has not registered yet. */
async function orphanPane({ call }: CommandContext, pane_id: string): Promise<PeerPane> {
  const peer = await undefinedOnRefusal(
    "no_pane_peer",
    () => call(peerByPane, { params: { pane_id }, query: {} }),
  );
  if (peer) return peer;
  const { panes } = await call(listOrphans, {});
  const found = panes.find((pane) => pane.pane_id === pane_id);
  if (!found) throw new CommandError(`No pane ${pane_id}; see: mesh orphans`);
  return { peer_id: null, name: pane_id, pane_id, tmux_socket: found.tmux_socket };
}

/** The pane of a peer, and the command that shows it in the terminal of this environment. */
export function paneOf(
  { peer_id, name, pane_id, tmux_socket }: PeerPane,
  env: Env,
  { onlyPrints = false } = {},
) {
  if (pane_id === null || tmux_socket === null) {
    throw new CommandError(
      `${name} has no pane. To send a file along: mesh ask PEER TEXT --attach FILE`,
    );
  }
  if (kindOf(tmux_socket) === "kitty") {
    const focus = ["focus-window", "--match", `id:${pane_id}`];
    const command = ["kitty", "@", "--to", `unix:${socketPathOf(tmux_socket)}`, ...focus];
    return { peer_id, name, pane_id, tmux_socket, command };
  }
  const here = tmuxSocketOf(env);
  if (here !== undefined && here !== tmux_socket && !onlyPrints) {
    throw new CommandError(
      `${name} runs on another tmux server (${tmux_socket}) than this terminal; ` +
        "detach first, or run this in a terminal outside of tmux",
    );
  }
  const show = here === tmux_socket ? "switch-client" : "attach-session";
  const command = ["tmux", "-S", tmux_socket, "select-window", "-t", pane_id, ";"]
    .concat("select-pane", "-t", pane_id, ";", show, "-t", pane_id);
  return { peer_id, name, pane_id, tmux_socket, command };
}

/** Shows the pane in this terminal. Outside tmux, returns when the user detaches. */
export async function showPane(command: readonly string[], env: Env): Promise<void> {
  const { success, code } = await runOnTerminal(withLeaveHint(command, env), { env: { ...env } });
  if (success) return;
  throw new CommandError(`${command[0]} ended with code ${code}; see: mesh peer show`);
}

/** Lets tmux show for some seconds how to get back. */
function withLeaveHint(command: readonly string[], env: Env): readonly string[] {
  if (command[0] !== "tmux") return command;
  const [verb, key] = command.includes("switch-client")
    ? ["go back", backKey(env)]
    : ["leave", "d"];
  const hint = `To ${verb}: #{prefix} and then ${key}`;
  return [...command, ";", "display-message", "-d", String(HINT_MS), hint];
}

/**
 * The key that leads back to the pane of this environment, as a format: tmux decides when it shows
 * the other pane, which lies in the same window, in the same session, or in another session.
 */
export function backKey({ TMUX = "", TMUX_PANE = "" }: Env): string {
  const session = `$${TMUX.split(",")[2]}`;
  const isInWindow = `#{P:#{?#{==:#{pane_id},${TMUX_PANE}},1,}}`;
  return `#{?${isInWindow},;,#{?#{==:#{session_id},${session}},l,L}}`;
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
