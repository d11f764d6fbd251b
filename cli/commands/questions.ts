/** `mesh answer` for structured questions, `mesh ask-many` for one question to several peers. */

import type { WireResponse } from "kit/http/client.ts";
import { heldAmong } from "protocol/derived/holds.ts";
import { answerAsk, askMany, getMany, listPeers } from "protocol/generated/endpoints.ts";
import { pollForReply } from "./waiting/reply_wait.ts";
import {
  answerCommand,
  type Args,
  BUDGET_FLAG,
  type Command,
  type CommandContext,
  FROM_FLAG,
  interruptible,
  JSON_FLAG,
  PROVE_FLAG,
  readProve,
} from "../command/command.ts";
import { EXIT, UsageError } from "../client/failures.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import { formatAskState } from "../output/views.ts";

type AskManyResult = WireResponse<typeof askMany>;
type Result = WireResponse<typeof getMany>;

/** The outcomes with which a question can be closed instead of being answered. */
const REFUSALS = ["denied", "declined", "cancelled"] as const;

export const QUESTION_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "answer <id> [text]",
    summary: "Answer a structured question with an option, a text or a refusal",
    flags: {
      "--option <id>": "answer with this option",
      "--message <text>": "add this message to the answer",
      "--refuse <outcome>": `refuse to answer: one of ${REFUSALS.join(", ")}`,
    },
    example: "mesh answer ask-3f9c04d1a2b7 --option allow",
    hasSender: true,
    call: answer,
    show: ({ close_reason, outcome }, { terminal }) =>
      terminal.print(formatAskState({ state: "closed", close_reason, outcome })),
  }),
  {
    usage: "ask-many <peers> <text>",
    summary: "Ask several peers the same question: names or @tags, separated by commas",
    flags: {
      "--wait": "wait for all answers and print them",
      "--timeout <duration>":
        "close asks that are unanswered after this time, such as 90 (s) or 2m",
      "--circle <name>": "look up the peers' names in this circle",
      ...BUDGET_FLAG,
      ...PROVE_FLAG,
      ...FROM_FLAG,
      ...JSON_FLAG,
    },
    example: 'mesh ask-many api,web "Which port do you listen on?" --wait',
    run: ask,
  },
];

async function answer(context: CommandContext, args: Args) {
  const { peer, identifiedBy } = await context.sender(args);
  const outcome = args.choice("refuse", REFUSALS);
  const body = {
    correlation_id: args.text("id"),
    option_id: args.get("option"),
    message: args.get("message"),
    text: await context.readText(args.get("text")),
    outcome,
    // An anonymous sender may answer too, because the first valid answer wins.
    from_peer: identifiedBy === "anonymous" ? undefined : peer,
  };
  return await context.call(answerAsk, { body });
}

async function ask(context: CommandContext, args: Args): Promise<number> {
  const to_peers = args.text("peers").split(",").map((peer) => peer.trim()).filter(Boolean);
  if (to_peers.length === 0) {
    throw new UsageError("<peers> is empty; name the peers, separated by commas");
  }
  return await askEach(context, args, { to_peers, timeout_seconds: args.seconds("timeout") });
}

/** Asks each of several peers; also for `mesh ask @TAG`. */
export async function askEach(
  context: CommandContext,
  args: Args,
  { to_peers, timeout_seconds }: {
    readonly to_peers: string[];
    readonly timeout_seconds: number | undefined;
  },
): Promise<number> {
  const { call, terminal } = context;
  const message = await context.message(args);
  const wait = args.flag("wait");
  const opened = await call(askMany, {
    body: {
      ...message,
      to_peers,
      timeout_seconds,
      circle: args.get("circle"),
      budget: args.get("budget"),
      prove: readProve(args),
      reply_delivery: wait ? "pull" : "push",
    },
  });
  if (wait) return await waitForAll(context, args, { opened, peer_id: message.from_peer });
  if (args.flag("json")) terminal.printJson(opened);
  else {
    showOpened(terminal, opened);
    await showHeld(context, opened);
  }
  return EXIT.done;
}

/** Prints why some of the asks wait. */
async function showHeld({ call, terminal }: CommandContext, { children }: AskManyResult) {
  const isHeld = children.some((child) => "reason" in child && child.reason);
  const { peers } = isHeld ? await call(listPeers, { query: {} }) : { peers: [] };
  for (const sentence of heldAmong(children, peers)) {
    terminal.printError(styled("yellow", sentence));
  }
}

/**
 * Waits for each ask in turn. The peers work in parallel, so the total time is that of the slowest
 * reply.
 */
async function waitForAll(
  context: CommandContext,
  args: Args,
  { opened, peer_id }: { opened: AskManyResult; peer_id: string },
): Promise<number> {
  return await interruptible(async (signal) => {
    for (const child of opened.children) {
      if (signal.aborted || !("correlation_id" in child)) continue;
      const { correlation_id } = child;
      await pollForReply(context, { correlation_id, peer_id }, { seconds: undefined, signal });
    }
    const { state } = await showAskMany(context, args, opened.parent_id);
    if (state === "complete") return EXIT.done;
    context.terminal.printError(styled("yellow", "Some are still open."), " Check again with:");
    context.terminal.printError("  ", styled("bold", `mesh show ${opened.parent_id}`));
    return signal.aborted ? EXIT.interrupted : EXIT.refused;
  });
}

/** Shows the state of an ask to several peers. */
export async function showAskMany(
  { call, terminal }: CommandContext,
  args: Args,
  parent_id: string,
): Promise<Result> {
  const result = await call(getMany, { params: { parent_id } });
  if (args.flag("json")) terminal.printJson(result);
  else showResult(terminal, result);
  return result;
}

function showOpened(to: Terminal, { parent_id, children }: AskManyResult): void {
  to.print(styled("cyan", parent_id));
  for (const child of children) {
    if ("error" in child) to.print(`  ${child.peer}  `, styled("red", child.error));
    else to.print(`  ${child.peer}  `, styled("dim", child.correlation_id));
  }
}

function showResult(to: Terminal, { parent_id, state, children }: Result): void {
  to.print(styled("cyan", parent_id), `  ${state}`);
  for (const { peer, outcome, error, reply, correlation_id } of children) {
    const succeeded = outcome === "answered" || outcome === "acknowledged";
    const status = styled(succeeded ? "green" : "yellow", error ?? outcome ?? "open");
    to.print(styled("bold", `${peer}: `), status, "  ", styled("dim", correlation_id ?? ""));
    if (reply !== null) to.printText(reply, "  ");
  }
}
