/** `mesh review`: the changes that are ready for a person, and what the person decides. */

import type { WireResponse } from "kit/http/client.ts";
import {
  acceptReviews,
  commentReview,
  listReviews,
  placeReview,
  readReview,
  sendBackReview,
} from "protocol/generated/endpoints.ts";
import { originText } from "protocol/derived/origins.ts";
import { counted } from "protocol/reviews/order.ts";
import { lineWords } from "protocol/reviews/lines.ts";
import {
  answerCommand,
  type Args,
  type Command,
  type CommandContext,
} from "../../command/command.ts";
import { EXIT, UsageError } from "../../client/failures.ts";
import { showChanges } from "../../output/changes.ts";
import { formatAge } from "../../output/time.ts";
import { styled } from "../../output/terminal.ts";

type List = WireResponse<typeof listReviews>;
type Detail = WireResponse<typeof readReview>;
type Review = Detail["review"];
type Accepted = WireResponse<typeof acceptReviews>;
type Sent = WireResponse<typeof sendBackReview> | WireResponse<typeof commentReview>;
type Placed = WireResponse<typeof placeReview>;
type Answer = List | Detail | Accepted | Sent | Placed;

const FLAGS = {
  "--all": "also changes that are not ready: accepted, sent back, at work, taken out",
  "--next": "show the first of the queue",
  "--stat": "only the files, not their lines",
  "--file <path>": "only this file",
  "--accept": "record that you accept exactly this diff; several names with commas",
  "--digest <digest>": "accept only if the diff still has this digest",
  "--send-back <text>": "send it back to its author with this text, as an ask",
  "--comment <file:line>": "send the text after it to the author, as a comment on this line",
  "--old": "the line of --comment is a removed one, by its number before",
  "--in": "put it into the queue although an agent works there",
  "--out": "take it out of the queue",
};

export const REVIEW: Command = answerCommand({
  usage: "review [name] [text]",
  summary: "Review the changes of agents that are ready, in order; accept or send them back",
  details:
    "Without a name: the queue, what holds up most work first. With one: the diff, with the " +
    "comments on its lines and their answers. Nothing is merged or pushed: accepting records your " +
    "decision on exactly this diff, and a later change of it makes the review ready again. Only a " +
    "person decides; an agent sees its own. Exit code 1: nothing is ready, or something was not " +
    "accepted.",
  flags: FLAGS,
  example: 'mesh review api --comment src/login.ts:42 "Why twice?"',
  call: (context, args): Promise<Answer> => answerOf(context, args),
  show: (answer, context, args) => show(answer, context, args),
  exitCode: (answer: Answer) => {
    if ("reviews" in answer) return answer.ready > 0 ? EXIT.done : EXIT.refused;
    if (!("results" in answer)) return EXIT.done;
    return answer.results.every(({ accepted }) => accepted) ? EXIT.done : EXIT.refused;
  },
});

async function answerOf(context: CommandContext, args: Args): Promise<Answer> {
  const name = args.get("name");
  const { from_peer } = await context.lookup(args);
  if (args.flag("next")) return await next(context, args, from_peer);
  if (name === undefined) {
    const query = { all: args.flag("all") ? "true" : "false", fresh: "true", from_peer } as const;
    return await context.call(listReviews, { query });
  }
  if (args.flag("accept")) {
    const reviews = acceptedIn(name, args.get("digest"));
    return await context.call(acceptReviews, { body: { reviews } });
  }
  const params = { id: name };
  const text = args.get("sendBack");
  if (text !== undefined) return await context.call(sendBackReview, { params, body: { text } });
  if (args.get("comment") !== undefined) {
    return await context.call(commentReview, { params, body: { comments: [commentIn(args)] } });
  }
  if (args.flag("in") || args.flag("out")) {
    const placed = args.flag("in") ? "in" : "out";
    return await context.call(placeReview, { params, body: { placed } });
  }
  if (args.get("digest") !== undefined) throw new UsageError("--digest needs --accept");
  if (args.get("text") !== undefined) {
    throw new UsageError(`"${args.get("text")}": a text needs --comment FILE:LINE`);
  }
  return await read(context, name, args, from_peer);
}

async function next(context: CommandContext, args: Args, from_peer: string | undefined) {
  const query = { fresh: "true", from_peer } as const;
  const list = await context.call(listReviews, { query });
  const [first] = list.reviews;
  return first ? await read(context, first.review_id, args, from_peer) : list;
}

async function read(
  context: CommandContext,
  id: string,
  args: Args,
  from_peer: string | undefined,
): Promise<Detail> {
  const query = { file: args.get("file"), from_peer, ...(args.flag("stat") && { limit: "0" }) };
  return await context.call(readReview, { params: { id }, query });
}

function acceptedIn(names: string, digest: string | undefined) {
  const ids = names.split(",");
  if (digest !== undefined && ids.length > 1) {
    throw new UsageError(`--digest is that of one diff, and "${names}" names ${ids.length}`);
  }
  return ids.map((id) => ({ id, ...(digest !== undefined && { digest }) }));
}

function commentIn(args: Args) {
  const given = args.text("comment");
  const [, file = "", line = ""] = /^(.+):(\d{1,9})$/s.exec(given) ?? [];
  if (file === "") throw new UsageError(`--comment: "${given}" is not FILE:LINE, such as a.ts:42`);
  const side = args.flag("old") ? "old" as const : "new" as const;
  return { file, line: Number(line), side, text: args.text("text") };
}

function show(answer: Answer, context: CommandContext, args: Args): void {
  const { terminal } = context;
  if ("reviews" in answer) return showList(answer, context);
  if ("review" in answer) return showDetail(answer, context, args);
  if ("results" in answer) {
    for (const { id, accepted, detail } of answer.results) {
      if (accepted) terminal.print(`${id}: accepted; nothing was merged or pushed`);
      else terminal.print(styled("yellow", `${id}: not accepted: ${detail}`));
    }
    return;
  }
  if (!("correlation_ids" in answer)) return terminal.print("Done");
  for (const id of answer.correlation_ids) terminal.print(`Sent as ${id}: mesh show ${id}`);
}

function showList({ reviews, reading }: List, { terminal }: CommandContext): void {
  terminal.printTable(reviews, {
    peer: ({ author }) => author.name,
    state: stateOf,
    why: ({ rank }) => rank.words,
    task: ({ task }) => task?.title ?? "",
    joined: ({ joined }) => joined.map(({ name }) => name).join(", "),
  }, { empty: "Nothing is ready to review", essential: ["peer", "state", "why"] });
  if (reading > 0) terminal.print(styled("dim", `Still reading ${counted(reading, "folder")}`));
}

function stateOf({ state, decision }: Review): string {
  const words = state.replace("_", " ");
  const hasChanged = decision?.kind === "accepted" && !decision.is_current;
  return hasChanged ? `${words}, changed since accepted` : words;
}

function showDetail(
  { review, changes, comments }: Detail,
  { terminal, clock }: CommandContext,
  args: Args,
): void {
  const { author, rank, task, checks, joined, fails_with, inexact, digest } = review;
  terminal.printFields({
    review: `${author.name}: ${stateOf(review)}`,
    order: rank.words,
    task: task && `${task.title} (${task.id}${task.from === null ? "" : `, from ${task.from}`})`,
    origin: task?.chain && originText(task.chain),
    checks: checks.map(({ name, passed }) => `${name} ${passed ? "passed" : "failed"}`).join(", "),
    cost: costOf(review),
    joined: joined.map(({ name, files }) => `${name} (${files.join(", ")})`).join("; "),
    "fails with": fails_with.join(", "),
    digest,
    compared: inexact && styled("yellow", inexact),
  });
  terminal.print();
  showChanges(terminal, author.name, changes, !args.flag("stat"));
  for (const { file, line, line_text, text, at, now, seen_at, reply, ask_state } of comments) {
    terminal.print();
    terminal.print(
      styled("cyan", `${file}:${line}`),
      `  ${formatAge(at, clock)} ago, `,
      lineWords(now),
    );
    terminal.print(styled("dim", `> ${line_text}`));
    terminal.print(text);
    const state = ask_state === "open" ? seen_at === null ? "not seen yet" : "seen" : "answered";
    terminal.print(styled("bold", `${author.name}: `), reply ?? state);
  }
}

function costOf({ cost }: Review): string | null {
  if (!cost) return null;
  const tokens = (cost.input_tokens ?? 0) + (cost.output_tokens ?? 0);
  const price = cost.cost === null ? "" : `, ${cost.cost.toFixed(2)} ${cost.currency ?? ""}`;
  return `${tokens.toLocaleString("en-US")} tokens${price}`;
}
