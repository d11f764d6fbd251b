/** The output of `mesh` without arguments: the daemon's status and the next steps. */

import { type CommandContext } from "../command/command.ts";
import type { Env } from "../../daemon/host/paths.ts";
import { programsOnPath } from "../client/program.ts";
import { EXIT } from "../client/failures.ts";
import { showHealth } from "../output/views.ts";
import { getHealth } from "../client/daemon_process.ts";
import { styled } from "../output/terminal.ts";

const firstSteps = (agent: string) => [
  { command: `mesh run ${agent}`, purpose: "start an agent, with all that it needs" },
  { command: "mesh setup", purpose: "connect the agents that you start yourself" },
  { command: "mesh up", purpose: "start the daemon" },
  { command: "mesh demo", purpose: "watch two demo agents talk, in a temporary mesh" },
];

const NEXT_STEPS = [
  { command: "mesh peers", purpose: "list the peers" },
  { command: 'mesh ask PEER "…" --wait', purpose: "ask one of them" },
  { command: "mesh inbox", purpose: "list your inbox" },
];

export async function showWelcome(
  { env, terminal, daemon, clock }: CommandContext,
): Promise<number> {
  const health = await getHealth(daemon);
  terminal.print(
    styled("bold", "Agent Mesh"),
    " lets coding agents, and you, ask each other questions.",
  );
  terminal.print();
  if (health) showHealth(terminal, daemon.url, health, clock);
  else terminal.print("The daemon is ", styled("yellow", "not running"), ` (${daemon.url}).`);
  terminal.print();
  for (const { command, purpose } of health ? NEXT_STEPS : firstSteps(await installedAgent(env))) {
    terminal.print("  ", styled("cyan", command.padEnd(28)), purpose);
  }
  terminal.print();
  terminal.print(styled("dim", "All commands: mesh --help"));
  return EXIT.done;
}

/** The program of the first installed agent. */
async function installedAgent(env: Env): Promise<string> {
  const { AGENT_PROGRAMS } = await import("./run/agents.ts");
  return AGENT_PROGRAMS.find((program) => programsOnPath(program, env).length > 0) ?? "claude";
}
