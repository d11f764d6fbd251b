/** `mesh handoff`: hands a peer's work over to another peer. */

import type { WireResponse } from "kit/http/client.ts";
import { handOff } from "../../client/endpoints.ts";
import { UsageError } from "../../client/failures.ts";
import { answerCommand, Args, type Command, type CommandContext } from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";

export const HANDOFF_COMMAND: Command = answerCommand({
  usage: "handoff <to>",
  summary: "Hand work over: the last turns, open asks and touched files, as a file with a message",
  details: "The file begins with a manifest, which says what it holds and what was left out. " +
    "Secrets are masked, and of files only the names are handed over. Open asks are named and " +
    "stay where they are. An agent hands over its own work; with --from, a person that of any " +
    "agent of this machine.",
  flags: {
    "--from <peer>": "whose work it is; by default that of the agent that runs this",
    "--last <count>": "how many turns, from the end (10)",
    "--note <text>": "what the other must know; - reads it from the standard input",
    "--file <path> ...": "a file to name besides those that were found",
    "--ask": "send it as an ask, which the other answers or declines",
    "--circle <name>": "look up the names in this circle",
  },
  example: 'mesh handoff web --from api --last 5 --note "The tests are red since Tuesday"',
  call: send,
  show: (sent, { terminal }) => showHandoff(terminal, sent),
});

async function send(context: CommandContext, args: Args) {
  const { peer } = await context.sender(new Args(new Map()));
  const last = args.number("last");
  if (last !== undefined && !Number.isInteger(last)) {
    throw new UsageError(`--last: "${last}" is not a whole number`);
  }
  return await context.call(handOff, {
    body: {
      from_peer: peer,
      to_peer: args.text("to"),
      of_peer: args.get("from"),
      last,
      note: await context.readText(args.get("note")),
      files: args.list("file"),
      ask: args.flag("ask"),
      circle: args.get("circle"),
    },
  });
}

function showHandoff(to: Terminal, sent: WireResponse<typeof handOff>): void {
  const { manifest: { from, to: target, counts, left_out }, delivery_state } = sent;
  to.print(
    styled("green", "handed over"),
    `  ${from.name} → ${target.name}, ${delivery_state}  `,
    styled("dim", `${sent.correlation_id ?? sent.delivery_id}  ${sent.attachment_id}`),
  );
  const { turns, files, open_asks_to, open_asks_from, masked_secrets } = counts;
  to.print(
    `${turns} turns, ${files} files, ${open_asks_to} open asks to it and ${open_asks_from} of its ` +
      `own, ${masked_secrets} secrets masked`,
  );
  for (const { what, why } of left_out) to.print(styled("yellow", `left out: ${what}: ${why}`));
}
