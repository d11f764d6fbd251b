/** Runs a program in the current pane of tmux or kitty, as a peer from its start to its end. */

import { ApiError } from "kit/http/client.ts";
import { unlessError } from "kit/host/file_errors.ts";
import { offlinePeer, peerByPane, registerPeer } from "protocol/generated/endpoints.ts";
import { ANY_PROGRAM } from "protocol/agents/contract.ts";
import type { Env } from "../../../daemon/host/paths.ts";
import { isDescendant } from "../../../daemon/host/processes.ts";
import { kindOf, paneOf, type PanePlace } from "../../../daemon/host/terminal_addresses.ts";
import { isUnreachable, undefinedOnRefusal } from "../../client/daemon_client.ts";
import { CommandError, unlessRejected } from "../../client/failures.ts";
import type { CommandContext } from "../../command/command.ts";
import { styled } from "../../output/terminal.ts";
import { ANSWER_MS_MAX } from "../../../daemon/host/tmux/connection.ts";
import { runProgram, type RunResult } from "../../../daemon/host/program_group.ts";

export interface PaneProgram {
  /** The program and its arguments. */
  readonly argv: readonly string[];
  /** The name of the peer. */
  readonly name: string;
  readonly circle: string | undefined;
}

/** The signals that only this process gets. Keys such as Ctrl-C signal the program, too. */
const FORWARDED = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
const FROM_KEYS = ["SIGINT", "SIGQUIT"] as const;

/**
 * Registers this process, which stays in the foreground of the pane together with the program, and
 * runs the program. Returns its exit code; after a signal, 128 and the signal's number.
 */
export async function runInPane(context: CommandContext, program: PaneProgram): Promise<number> {
  const { call, env, terminal } = context;
  const pane = mustFindPane(env);
  await mustNotBeInside(context, pane);
  const { peer_id, display_name, circle } = await call(registerPeer, {
    body: {
      name: program.name,
      backend: ANY_PROGRAM,
      path: Deno.cwd(),
      agent_pid: Deno.pid,
      tmux_session: await sessionOf(pane, context),
      circle: program.circle,
      ...pane,
    },
  });
  terminal.printError(styled("dim", `${display_name} is a peer in the circle ${circle}`));
  try {
    return await runAsPeer(program.argv, env);
  } finally {
    await reportEnd(context, { peer_id, pane_id: pane.pane_id });
  }
}

function mustFindPane(env: Env): PanePlace {
  const pane = paneOf(env);
  if (!pane) {
    throw new CommandError(
      "This is neither a tmux pane nor a kitty window; run the command in one of them",
    );
  }
  return pane;
}

/** Refuses to run below a peer of this pane, because the program would have no pane. */
async function mustNotBeInside(
  { call }: CommandContext,
  { pane_id, tmux_socket }: PanePlace,
): Promise<void> {
  const request = { params: { pane_id }, query: { tmux_socket } };
  const owner = await undefinedOnRefusal("no_pane_peer", () => call(peerByPane, request));
  if (!owner?.agent_pid || !isDescendant(Deno.pid, owner.agent_pid)) return;
  throw new CommandError(
    `${owner.name} already runs in this pane; use another pane, or: mesh spawn PATH`,
  );
}

/** The name of the pane's tmux session; kitty has no sessions. */
async function sessionOf(
  { pane_id, tmux_socket }: PanePlace,
  context: CommandContext,
): Promise<string | undefined> {
  if (kindOf(tmux_socket) !== "tmux") return undefined;
  const asked = ["display-message", "-p", "-t", pane_id, "#{session_name}"];
  const { code, stdout } = await askTmux(["-S", tmux_socket, ...asked], context);
  if (code === 0) return stdout.trimEnd();
  throw new CommandError(
    `tmux does not answer on "${tmux_socket}"; see why: tmux -S ${tmux_socket} list-sessions`,
  );
}

/** Runs the program on this terminal, with this environment and no other variables. */
async function runAsPeer([program = "", ...args]: readonly string[], env: Env): Promise<number> {
  const stdio = { stdin: "inherit", stdout: "inherit", stderr: "inherit" } as const;
  const child = new Deno.Command(program, { args, env: { ...env }, clearEnv: true, ...stdio })
    .spawn();
  using _ = forwardSignals(FORWARDED, (signal) => child.kill(signal));
  using _keys = forwardSignals(FROM_KEYS, () => undefined);
  return (await child.status).code;
}

function hasEnded(error: unknown): boolean {
  return error instanceof TypeError || error instanceof Deno.errors.NotFound;
}

/** Handles signals until it is disposed. A signal after the program's end is ignored. */
export function forwardSignals(
  signals: readonly Deno.Signal[],
  forward: (signal: Deno.Signal) => void,
): Disposable {
  const listeners = signals.map((signal) => {
    const listener = () => unlessError(hasEnded, () => forward(signal));
    Deno.addSignalListener(signal, listener);
    return { signal, listener };
  });
  return {
    [Symbol.dispose]() {
      for (const { signal, listener } of listeners) Deno.removeSignalListener(signal, listener);
    },
  };
}

/** If the daemon is gone, or the peer is retired, the daemon finds out by the process. */
async function reportEnd(
  { call }: CommandContext,
  { peer_id, pane_id }: { peer_id: string; pane_id: string },
): Promise<void> {
  const body = { reason: "agent_exited", source: "run", pane_id, agent_pid: Deno.pid };
  const isExpected = (error: unknown) => error instanceof ApiError || isUnreachable(error);
  const report = { params: { id: peer_id }, query: {}, body };
  await unlessRejected(isExpected, () => call(offlinePeer, report));
}

/** Runs a tmux command that answers at once. */
export async function askTmux(
  args: readonly string[],
  { env, clock }: Pick<CommandContext, "env" | "clock">,
): Promise<RunResult> {
  try {
    const result = await runProgram(["tmux", ...args], { env, clock, timeout_ms: ANSWER_MS_MAX });
    if (!result.timed_out) return result;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new CommandError("mesh run needs tmux, which is not on the PATH; install it");
  }
  throw new CommandError(
    `tmux did not answer within ${ANSWER_MS_MAX / 1000} s; try again, or restart its server`,
  );
}
