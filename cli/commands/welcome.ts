/** What `mesh` alone says: how things stand, and three next steps. */

import { type Session } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { showHealth } from "../output/show.ts";
import { tryHealth } from "../client/lifecycle.ts";
import { ink, print } from "../output/print.ts";

const FIRST_STEPS = [
  { words: "mesh up", gives: "start the daemon" },
  { words: "mesh setup", gives: "connect your coding agents" },
  { words: "mesh demo", gives: "see two agents talk, in a throw-away mesh" },
] as const;

const NEXT_STEPS = [
  { words: "mesh peers", gives: "who is here" },
  { words: 'mesh ask PEER "…" --wait', gives: "ask one of them" },
  { words: "mesh inbox", gives: "what waits for you" },
] as const;

export async function welcome({ terminal, daemon }: Session): Promise<number> {
  const health = await tryHealth(daemon);
  print(terminal, ink("bold", "Agent Mesh"), " lets coding agents, and you, ask each other.");
  print(terminal);
  if (health) showHealth(terminal, daemon.url, health);
  else print(terminal, "The daemon is ", ink("yellow", "not up"), ` (${daemon.url}).`);
  print(terminal);
  for (const { words, gives } of health ? NEXT_STEPS : FIRST_STEPS) {
    print(terminal, "  ", ink("cyan", words.padEnd(28)), gives);
  }
  print(terminal);
  print(terminal, ink("dim", "All commands: mesh --help"));
  return EXIT.done;
}
