/** `mesh when`: sends a message when a peer, a job, an ask or a file is in a state. */

import type { WireResponse } from "kit/http/client.ts";
import {
  cancelSubscription,
  createSubscription,
  getSubscription,
  listSubscriptions,
} from "protocol/generated/endpoints.ts";
import { UsageError } from "../../client/failures.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  mustHaveText,
} from "../../command/command.ts";
import { styled, type Terminal } from "../../output/terminal.ts";
import { formatInstant } from "../../output/time.ts";
import { FORMS } from "protocol/subscriptions/conditions.ts";

type Subscription = WireResponse<typeof getSubscription>;

const DETAILS =
  `The condition is one of: ${FORMS}. Short: "mesh when web idle", "mesh when work-… ended". ` +
  "Without a message after --, you are told what was observed; with one, it is sent in your name, " +
  "with that proof. A condition that holds already is reported at once; finished is reported at the end " +
  "of the next turn, and failed if an error ends it. --until reports each occurrence, at most one a minute. A glob is relative to " +
  "the folder of the peer, and takes *, ** and ?; the file system says when a file was edited, " +
  "but not by whom.";

export const WHEN_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "when <condition...>",
    summary: "Send a message when a peer, a job, an ask or a file is in a state",
    details: DETAILS,
    flags: {
      "--once": "tell the first occurrence only; this is the default",
      "--until <time>": "tell each occurrence until then: 2h, or 2026-11-21T09:00:00+01:00",
      ...CIRCLE_FLAG,
    },
    example: 'mesh when web idle -- notify api "The branch is yours"',
    hasSender: true,
    call: subscribe,
    show: ({ subscription_id, condition, until, ...subscription }, { terminal }) =>
      terminal.print(
        styled("green", "subscribed"),
        `  ${condition}, ${until === null ? "once" : `until ${formatInstant(until)}`}`,
        `, to ${subscription.to_peer ?? subscription.from_peer_name}  `,
        styled("dim", subscription_id),
      ),
  }),
  answerCommand({
    usage: "when list",
    aliases: ["ls"],
    summary: "List active subscriptions",
    flags: { "--all": "also those that fired, failed, expired or were cancelled" },
    example: "mesh when list",
    call: ({ call }, args) =>
      call(listSubscriptions, { query: { state: args.flag("all") ? undefined : "active" } }),
    show: ({ subscriptions }, { terminal }) => showAll(terminal, subscriptions),
  }),
  answerCommand({
    usage: "when show <id>",
    summary: "Show a subscription and what was observed last",
    example: "mesh when show sub-3f9c04d1a2b7",
    call: ({ call }, args) => call(getSubscription, { params: { id: args.text("id") } }),
    show: (subscription, { terminal }) => showSubscription(terminal, subscription),
  }),
  answerCommand({
    usage: "when cancel <id>",
    aliases: ["rm"],
    summary: "Cancel a subscription",
    example: "mesh when cancel sub-3f9c04d1a2b7",
    call: ({ call }, args) => call(cancelSubscription, { params: { id: args.text("id") } }),
    show: ({ subscription_id, state }, { terminal }) =>
      terminal.print(styled("green", state), `  ${subscription_id}`),
  }),
];

async function subscribe(context: CommandContext, args: Args): Promise<Subscription> {
  if (args.flag("once") && args.get("until") !== undefined) {
    throw new UsageError("--once and --until exclude each other; use one of them");
  }
  const words = args.list("condition");
  const end = context.args.indexOf("--");
  const action = end < 0 ? [] : context.args.slice(end + 1);
  const condition = toCondition(words.slice(0, words.length - action.length));
  const { peer: from_peer, identifiedBy } = await context.sender(args);
  if (identifiedBy === "anonymous" && action.length === 0) {
    throw new UsageError(
      "Nobody would be told, because you are not a peer here",
      `Name a recipient: mesh when ${words.join(" ")} -- notify PEER "TEXT"`,
    );
  }
  const body = { from_peer, condition, until: args.get("until"), circle: args.get("circle") };
  return await context.call(createSubscription, {
    body: { ...body, ...await messageOf(context, action) },
  });
}

/** The condition as the daemon reads it. A bare name is a peer; an id shows its own kind. */
function toCondition(words: readonly string[]): string {
  const [target = "", ...rest] = words.join(" ").trim().split(/\s+/);
  if (target.includes(":") || rest.length === 0) return [target, ...rest].join(" ");
  const kind = rest[0] === "ended" ? "job" : rest[0] === "closed" ? "ask" : "peer";
  return `${kind}:${target} ${rest.join(" ")}`;
}

/** The message after `--`; empty if the subscriber just gets a notification. */
async function messageOf(context: CommandContext, action: readonly string[]) {
  const [verb, to_peer, ...text] = action;
  if (verb === undefined) return {};
  if (verb === "notify" && to_peer !== undefined && text.length > 0) {
    return { to_peer, text: mustHaveText(await context.readText(text.join(" "))) };
  }
  throw new UsageError('After -- only a notification is possible: -- notify PEER "TEXT"');
}

function showAll(to: Terminal, subscriptions: readonly Subscription[]): void {
  to.printTable(subscriptions, {
    ID: ({ subscription_id }) => styled("cyan", subscription_id),
    STATE: ({ state, last_error }) => last_error === null ? state : `${state}: ${last_error}`,
    WHEN: ({ condition }) => condition,
    UNTIL: ({ until }) => until === null ? "once" : formatInstant(until),
    FROM: ({ from_peer_name }) => from_peer_name,
    TO: ({ to_peer, from_peer_name }) => to_peer ?? from_peer_name,
    SENT: ({ fires }) => String(fires),
    LAST: ({ last_proof, text }) => last_proof ?? text ?? "",
  }, { whole: ["ID"], empty: "No subscriptions. Create one with: mesh when web idle" });
}

function showSubscription(to: Terminal, subscription: Subscription): void {
  to.printFields({
    subscription: styled("cyan", subscription.subscription_id),
    state: subscription.state,
    when: subscription.condition,
    until: subscription.until === null ? "once" : formatInstant(subscription.until),
    from: subscription.from_peer_name,
    to: subscription.to_peer ?? subscription.from_peer_name,
    circle: subscription.circle,
    sent: String(subscription.fires),
    "last sent": subscription.last_fired_at && formatInstant(subscription.last_fired_at),
    error: subscription.last_error,
    observed: subscription.last_proof,
    message: subscription.last_message_id,
    created: formatInstant(subscription.created_at),
  });
  if (subscription.text === null) return;
  to.print();
  to.printText(subscription.text);
}
