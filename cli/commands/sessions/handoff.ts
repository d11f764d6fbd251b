/** `mesh handoff` and `mesh peer switch`: hand work over to another peer, or to another agent. */

import type { WireResponse } from "kit/http/client.ts";
import { Backend } from "protocol/agents/contract.ts";
import { handOff, switchPeer } from "protocol/generated/endpoints.ts";
import { EXIT, UsageError } from "../../client/failures.ts";
import {
  answerCommand,
  Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { PROFILE_FLAG, showRestart } from "../spawn.ts";

export const HANDOFF_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "handoff <to>",
    summary:
      "Hand work over: the last turns, open asks and touched files, as a file with a message",
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
  }),
  answerCommand({
    usage: "peer switch <peer>",
    summary: "Put another kind of agent in a peer's place, with a hand-over of the work",
    details:
      "The pane, the name, the queue and the open asks stay. The agent is stopped when its " +
      "turn has ended, and only if its session could be resumed afterwards; the answer says how. " +
      "The new agent's first message carries the hand-over.",
    flags: {
      ...CIRCLE_FLAG,
      "--backend <backend>": `one of ${Backend.options.join(", ")}`,
      ...PROFILE_FLAG,
      "--last <count>": "how many turns to hand over, from the end (10)",
      "--note <text>": "what the new agent must know; - reads it from the standard input",
      "--dry-run": "show what would be done, without doing it",
      "--no-wait": "do not wait for the switch to finish",
      "--force": "also if the present session could not be resumed after a failure",
    },
    example: "mesh peer switch api --backend codex --dry-run",
    hasSender: true,
    call: switchAgent,
    show: (result, { terminal }) => {
      showRestart(terminal, result);
      showLeftOut(terminal, result.left_out);
      if (result.way_back !== null && result.outcome !== "would_restart") {
        terminal.print(styled("dim", "the earlier session: "), result.way_back);
      }
    },
    exitCode: ({ outcome }) => outcome === "failed" ? EXIT.refused : EXIT.done,
  }),
];

async function switchAgent(context: CommandContext, args: Args) {
  return await context.call(switchPeer, {
    params: { id: args.text("peer") },
    body: {
      from_peer: (await context.sender(args)).peer,
      circle: args.get("circle"),
      backend: args.requiredChoice("backend", Backend.options),
      profile: args.get("profile"),
      last: countOf(args),
      note: await context.readText(args.get("note")),
      dry_run: args.flag("dryRun"),
      wait: args.flag("wait"),
      force: args.flag("force"),
    },
  });
}

function countOf(args: Args): number | undefined {
  const last = args.number("last");
  if (last === undefined || Number.isInteger(last)) return last;
  throw new UsageError(`--last: "${last}" is not a whole number`);
}

async function send(context: CommandContext, args: Args) {
  const { peer, identifiedBy } = await context.sender(new Args(new Map()));
  if (identifiedBy === "anonymous" && args.get("from") === undefined) {
    throw new UsageError("No agent runs this: name the one whose work it is with --from PEER");
  }
  return await context.call(handOff, {
    body: {
      from_peer: peer,
      to_peer: args.text("to"),
      of_peer: args.get("from"),
      last: countOf(args),
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
  showLeftOut(to, left_out);
}

function showLeftOut(to: Terminal, left_out: WireResponse<typeof switchPeer>["left_out"]): void {
  for (const { what, why } of left_out) to.print(styled("yellow", `left out: ${what}: ${why}`));
}
