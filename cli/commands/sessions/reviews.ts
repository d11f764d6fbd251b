/** `mesh review`: the changes that are ready for a person, and what the person decides. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import {
  acceptReviews,
  commentReview,
  listReviews,
  placeReview,
  readReview,
  sendBackReview,
} from "protocol/generated/endpoints.ts";
import { originText } from "protocol/derived/origins.ts";
import { shortDigest } from "protocol/reviews/digests.ts";
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
/** The outcome of each review that was sent back, in the order of the names. */
interface SentBack {
  readonly results: readonly {
    readonly id: string;
    readonly correlation_ids: readonly string[];
    /** The reason why it was not sent back. */
    readonly detail: string | null;
  }[];
}
type Answer = List | Detail | Accepted | Sent | SentBack | Placed;

const FLAGS = {
  "--all": "also changes that are not ready: accepted, sent back, at work, taken out",
  "--next": "show the first of the queue",
  "--stat": "only the files, not their lines",
  "--file <path>": "only this file",
  "--accept": "record that you accept exactly this diff; several names with commas",
  "--send-back <text>": "send it back to its author with this text, as an ask; also several",
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
    "decision on exactly this diff, and a later change of it makes the review ready again. With the " +
    "digest that a list or a diff shows, as in api:3f9c04d1, a decision is refused if the diff is " +
    "another one now. Only a person decides; an agent sees its own. Exit code 1: nothing is ready, " +
    "or something was not accepted or not sent back.",
  flags: FLAGS,
  example: 'mesh review api --comment src/login.ts:42 "Why twice?"',
  call: (context, args): Promise<Answer> => answerOf(context, args),
  show: (answer, context, args) => show(answer, context, args),
  exitCode: (answer: Answer) => {
    if ("reviews" in answer) return answer.ready > 0 ? EXIT.done : EXIT.refused;
    if (!("results" in answer)) return EXIT.done;
    return answer.results.every(({ detail }) => detail === null) ? EXIT.done : EXIT.refused;
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
    return await context.call(acceptReviews, { body: { reviews: namedIn(name) } });
  }
  const params = { id: name };
  const text = args.get("sendBack");
  if (text !== undefined) return await sendBack(context, namedIn(name), text);
  if (args.get("comment") !== undefined) {
    return await context.call(commentReview, { params, body: { comments: [commentIn(args)] } });
  }
  if (args.flag("in") || args.flag("out")) {
    const placed = args.flag("in") ? "in" : "out";
    return await context.call(placeReview, { params, body: { placed } });
  }
  if (args.get("text") !== undefined) {
    throw new UsageError(`"${args.get("text")}": a text needs --comment FILE:LINE`);
  }
  return await read(context, name, args, from_peer);
}

interface Named {
  readonly id: string;
  /** The beginning of the digest that the person has seen. */
  readonly digest?: string;
}

/** Such as `api,web:3f9c04d1`. */
function namedIn(names: string): Named[] {
  return names.split(",").map((name) => {
    const [, id = name, digest] = SEEN.exec(name) ?? [];
    return { id, ...(digest !== undefined && { digest }) };
  });
}

/** A name with the beginning of a digest, of `SHORT_DIGEST_CHARS` or more characters. */
const SEEN = /^(.+):([0-9a-f]{8,64})$/s;

/** Each of several is sent back although another one is refused. */
async function sendBack(
  context: CommandContext,
  named: readonly Named[],
  text: string,
): Promise<Sent | SentBack> {
  const send = ({ id, digest }: Named) =>
    context.call(sendBackReview, { params: { id }, body: { text, digest } });
  const [only] = named;
  if (only && named.length === 1) return await send(only);
  const results = [];
  for (const review of named) {
    try {
      const { correlation_ids } = await send(review);
      results.push({ id: review.id, correlation_ids, detail: null });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error;
      results.push({ id: review.id, correlation_ids: [], detail: error.message });
    }
  }
  return { results };
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
    const [done, not] = args.flag("accept")
      ? ["accepted; nothing was merged or pushed", "not accepted"]
      : ["sent back", "not sent back"];
    for (const { id, detail } of answer.results) {
      if (detail === null) terminal.print(`${id}: ${done}`);
      else terminal.print(styled("yellow", `${id}: ${not}: ${detail}`));
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
    digest: ({ digest }) => shortDigest(digest),
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
  const { author, rank, task, checks, joined, fails_with, inexact } = review;
  terminal.printFields({
    review: `${author.name}: ${stateOf(review)}`,
    digest: shortDigest(review.digest),
    order: rank.words,
    task: task && `${task.title} (${task.id}${task.from === null ? "" : `, from ${task.from}`})`,
    origin: task?.chain && originText(task.chain),
    checks: checks.map(({ name, passed }) => `${name} ${passed ? "passed" : "failed"}`).join(", "),
    cost: costOf(review),
    joined: joined.map(({ name, files }) => `${name} (${files.join(", ")})`).join("; "),
    "fails with": fails_with.join(", "),
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
