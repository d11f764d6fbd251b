/** `mesh ask`, `ack`, `notify`, `asks` and the other commands that send and show messages. */

import type { WireResponse } from "kit/http/client.ts";
import { toChoice } from "protocol/asks/choice.ts";
import { unreachedPeers } from "protocol/derived/unreached.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import { sentenceOf } from "protocol/reasons.ts";
import {
  ackAsk,
  broadcast,
  declineAsk,
  getMessage,
  getTrace,
  listAsks,
  listPeers,
  notifyPeer,
  openAsk,
  pendingAsks,
  replyAll,
} from "protocol/generated/endpoints.ts";
import { EXIT, UsageError } from "../client/failures.ts";
import {
  answerCommand,
  type Args,
  BUDGET_FLAG,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  FROM_FLAG,
  JSON_FLAG,
  mustHaveText,
  PROVE_FLAG,
  readProve,
  WAIT_FLAGS,
} from "../command/command.ts";
import { formatCloseReason } from "../output/message_explanation.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import { showAsks, showTrace } from "../output/views.ts";
import { mustKnowCircle } from "./peer_list.ts";
import { ATTACH_FLAG, resolveAttachments } from "./attachments.ts";

const URGENT_FLAG = { "--urgent": "let an agent at work read it after its next tool call" };

/** A reply and, with `--all`, the other recipients of a copy. */
type ReplyResult =
  & WireResponse<typeof ackAsk>
  & Partial<Pick<WireResponse<typeof replyAll>, "sent_to" | "failed">>;

export const ASK_COMMANDS: readonly Command[] = [
  {
    usage: "ask <peer> [text]",
    runsInDaemon: true,
    summary: "Ask a peer, or each peer of an @tag, a question that needs a reply",
    details:
      "You ask as the peer of this tmux pane, else as the human if a person uses this terminal, " +
      "else as `cli`, whose asks `mesh asks --all` lists. `-` reads the text from standard input. " +
      "With --option, the answer is one of the options. " +
      "With --route, the only argument is the text, and routing.strategy chooses the peer.",
    flags: {
      ...WAIT_FLAGS,
      ...CIRCLE_FLAG,
      ...ATTACH_FLAG,
      ...URGENT_FLAG,
      ...BUDGET_FLAG,
      ...PROVE_FLAG,
      "--option <text> ...": "an answer to choose from; repeat it for each (up to 50)",
      "--reply-to <ask>": "follow up this earlier ask",
      "--route": "let routing.strategy choose the peer: mesh ask --route TEXT",
      "--fallback <peer>": "with --route: ask this peer if the strategy chooses none",
      "--dry-run": "with --route: print the choice, without asking",
      ...FROM_FLAG,
      ...JSON_FLAG,
    },
    example: 'mesh ask api "Which port do you listen on?" --wait',
    run: ask,
  },
  answerCommand({
    usage: "ack <id> [text]",
    runsInDaemon: true,
    summary: "Acknowledge an ask, or answer it with text",
    aliases: ["reply"],
    flags: {
      "--all": "also notify the other peers of its thread",
      "--claim <claim> ...": "a claim for the daemon to verify: commit:SHA, " +
        "file:PATH=sha256:HEX, http://127.0.0.1:PORT/, merges:BRANCH",
      ...ATTACH_FLAG,
    },
    details: "An answer with claims, or to an ask with checks, is held until they are verified.",
    example: 'mesh ack ask-3f9c04d1a2b7 "Port 8080"',
    hasSender: true,
    call: async (context, args): Promise<ReplyResult> => {
      const from_peer = (await context.sender(args)).peer;
      const message = await context.readText(args.get("text"));
      const claims = args.list("claim");
      if (args.flag("all")) {
        if (args.list("attach").length > 0) throw new UsageError("--all takes no files");
        if (claims.length > 0) throw new UsageError("--all takes no claims");
        const body = { from_peer, text: mustHaveText(message ?? "") };
        const params = { id: args.text("id") };
        return await context.call(replyAll, { params, body });
      }
      const body = {
        correlation_id: args.text("id"),
        from_peer,
        message,
        claims: claims.length > 0 ? claims : undefined,
        ...await resolveAttachments(context, args),
      };
      return await context.call(ackAsk, { body });
    },
    show: (closed, { terminal }) => {
      if (closed.close_reason === null) {
        return terminal.print(styled("yellow", "held"), ": the daemon checks the answer first");
      }
      terminal.print(styled("green", "closed"), `: ${formatCloseReason(closed.close_reason)}`);
      const { sent_to, failed = [] } = closed;
      if (!sent_to) return;
      const names = sent_to.map(({ name }) => name).join(", ");
      terminal.print(`also sent to ${sent_to.length}${names ? `: ${names}` : ""}`);
      for (const { name, error } of failed) {
        terminal.print(styled("red", `failed ${name}: ${error}`));
      }
    },
  }),
  answerCommand({
    usage: "decline <id> <reason>",
    runsInDaemon: true,
    summary: "Decline an ask; the reason is sent to the asker",
    example: 'mesh decline ask-3f9c04d1a2b7 "Not my part of the code; ask web"',
    hasSender: true,
    call: async (context, args) => {
      const reason = await context.readText(args.text("reason"));
      const from_peer = (await context.sender(args)).peer;
      const body = { correlation_id: args.text("id"), reason, from_peer };
      return await context.call(declineAsk, { body });
    },
    show: ({ close_reason }, { terminal }) =>
      terminal.print(styled("green", "closed"), `: ${formatCloseReason(close_reason)}`),
  }),
  answerCommand({
    usage: "notify <peer> <text>",
    runsInDaemon: true,
    aliases: ["send"],
    summary: "Send a peer, or each peer of an @tag, a message that needs no reply",
    flags: { ...CIRCLE_FLAG, ...ATTACH_FLAG, ...URGENT_FLAG },
    example: 'mesh notify web "The API moved to port 8080"',
    hasSender: true,
    call: async (context, args) => {
      const to_peer = args.text("peer"), circle = args.get("circle");
      const message = await context.message(args);
      const files = await resolveAttachments(context, args);
      const body = { ...message, circle, ...files, ...readUrgent(args) };
      return to_peer.startsWith("@")
        ? await context.call(broadcast, { body: { ...body, tag: to_peer.slice(1) } })
        : await context.call(notifyPeer, { body: { ...body, to_peer } });
    },
    show: async (sent, context) => {
      const { terminal } = context;
      if ("sent_to" in sent) return await showBroadcast(sent, context);
      const { delivery_state, delivery_id, to_peer_id, to_peer_name, queued, reason } = sent;
      const reasonText = reason === null ? "" : ` (${reason})`;
      terminal.print(
        styled("green", delivery_state),
        ` to ${to_peer_name}${reasonText}  `,
        styled("dim", delivery_id),
      );
      if (queued && reason !== null) await showHold(context, { to_peer_id, reason });
    },
  }),
  answerCommand({
    usage: "broadcast <text>",
    runsInDaemon: true,
    summary: "Send a message to all agents of a circle, but not to the human",
    flags: {
      "--circle <name>": "the circle to send to",
      "--tag <tag>": "only the peers with this tag, as `mesh notify @TAG`",
      ...URGENT_FLAG,
    },
    example: 'mesh broadcast "main is green again"',
    hasSender: true,
    call: async (context, args) => {
      const circle = args.get("circle");
      await mustKnowCircle(context, circle);
      const tag = args.get("tag")?.replace(/^@/, "");
      const body = { ...await context.message(args), circle, tag, ...readUrgent(args) };
      return await context.call(broadcast, { body });
    },
    show: showBroadcast,
  }),
  answerCommand({
    usage: "asks",
    runsInDaemon: true,
    summary: "List open asks to and from you",
    flags: {
      "--inbound": "only asks to you",
      "--outbound": "only asks from you",
      "--all": "all peers' asks, including closed ones",
    },
    example: "mesh asks --inbound",
    hasSender: true,
    call: asks,
    show: ({ asks }, { terminal, clock }) => showAsks(terminal, asks, clock),
  }),
  {
    usage: "show <id>",
    summary: "Show an ask, an inbox item, or any other message",
    flags: { ...WAIT_FLAGS, ...JSON_FLAG },
    example: "mesh show ask-3f9c04d1a2b7",
    run: async (context, args) => {
      const { showAny } = await import("./search.ts");
      return await showAny(context, args);
    },
  },
  answerCommand({
    usage: "trace <id>",
    summary: "Show the recorded stages of a message",
    example: "mesh trace notif-3f9c04d1a2b7",
    call: ({ call }, args) => call(getTrace, { params: { trace_id: args.text("id") } }),
    show: async (trace, { call, terminal }) => {
      const message = await call(getMessage, { params: { id: trace.trace_id } });
      showTrace(terminal, trace, message);
    },
  }),
];

/** Without the flag, the daemon decides: what the human sends is urgent. */
function readUrgent(args: Args): { readonly urgent?: true } {
  return args.flag("urgent") ? { urgent: true } : {};
}

/** Shows the recipients of a broadcast, and the peers that it did not reach with the reason. */
async function showBroadcast(
  sent: WireResponse<typeof broadcast>,
  { call, terminal }: CommandContext,
): Promise<void> {
  const { peers } = await call(listPeers, { query: {} });
  const unreached = unreachedPeers(sent, peers);
  const names = sent.sent_to.map(({ name }) => name).join(", ");
  const emptyMessage = unreached.length > 0
    ? "sent to nobody"
    : "sent to nobody: the circle has no other agent; choose another one with --circle";
  terminal.print(names ? `sent to ${sent.sent_to.length}: ${names}` : emptyMessage);
  for (const { name, why, waits } of unreached) {
    const state = waits ? `not yet reached: ${name}, it waits` : `not reached: ${name}`;
    terminal.print(styled("yellow", state), `: ${why}`);
  }
}

/** The flags of `mesh ask` that an ask to each peer of a tag does not take. */
const FLAGS_FOR_ONE = ["attach", "option", "replyTo", "timeout", "urgent"] as const;

/** Asks each peer of a tag, as `mesh ask-many` does. */
async function askTagged(context: CommandContext, args: Args, tag: string): Promise<number> {
  const given = FLAGS_FOR_ONE.find((name) =>
    name === "attach" || name === "option"
      ? args.list(name).length > 0
      : name === "urgent"
      ? args.flag(name)
      : args.get(name) !== undefined
  );
  if (given !== undefined) {
    const flag = given === "replyTo" ? "reply-to" : given;
    throw new UsageError(`--${flag} is for an ask to one peer, and "${tag}" may name several`);
  }
  const { askEach } = await import("./questions.ts");
  return await askEach(context, args, { to_peers: [tag], timeout_seconds: undefined });
}

async function ask(context: CommandContext, args: Args): Promise<number> {
  const { terminal } = context;
  const isTagged = args.text("peer").startsWith("@") && !args.flag("route");
  if (isTagged && args.get("text") !== undefined) {
    return await askTagged(context, args, args.text("peer"));
  }
  // Throws for an invalid timeout before anything is sent.
  args.seconds("timeout");
  const { recipient, text } = parseRecipient(args);
  const { peer: from_peer } = await context.sender(args);
  const options = args.list("option");
  const opened = await context.call(openAsk, {
    body: {
      ...recipient,
      from_peer,
      text: mustHaveText(await context.readText(text)),
      ...await resolveAttachments(context, args),
      circle: args.get("circle"),
      ...readUrgent(args),
      reply_to: args.get("replyTo"),
      budget: args.get("budget"),
      prove: readProve(args),
      question: options.length > 0 ? toChoice(options) : undefined,
      reply_delivery: args.flag("wait") ? "pull" : "push",
    },
  });
  const { correlation_id, to_peer_id, to_peer_name } = opened;
  if (args.flag("wait") && correlation_id !== null) {
    const handle = { correlation_id, to_peer_id, to_peer_name, peer_id: from_peer };
    const { waitForReply } = await import("./waiting/reply_wait.ts");
    return await waitForReply(context, args, handle);
  }
  if (args.flag("json")) terminal.printJson(opened);
  else {
    showAskResult(terminal, opened);
    const isAwake = opened.wake === undefined;
    if (opened.delivery_state === "queued" && isAwake) await showHold(context, opened);
  }
  return EXIT.done;
}

/** Prints why a message waits, such as for the reset of its recipient's limit. */
async function showHold(
  { call, terminal }: CommandContext,
  { to_peer_id, reason }: Pick<AskResult, "to_peer_id" | "reason">,
): Promise<void> {
  const { holdOf } = await import("./waiting/peer_waits.ts");
  const hold = await holdOf(call, to_peer_id, reason);
  if (hold !== undefined) terminal.printError(styled("yellow", hold));
}

/** The recipient's fields and the text. With `--route` the first argument is the text. */
function parseRecipient(args: Args) {
  const first = args.text("peer"), second = args.get("text");
  const fallback_to = args.get("fallback"), dry_run = args.flag("dryRun");
  if (args.flag("route")) {
    if (second === undefined) return { recipient: { fallback_to, dry_run }, text: first };
    throw new UsageError(`--route chooses the peer; leave out "${first}"`);
  }
  if (fallback_to !== undefined || dry_run) {
    throw new UsageError("--fallback and --dry-run belong to --route");
  }
  if (second === undefined) throw new UsageError("The text is missing: mesh ask PEER TEXT");
  return { recipient: { to_peer: first }, text: second };
}

type AskResult = WireResponse<typeof openAsk>;

function showAskResult(to: Terminal, opened: AskResult): void {
  const { correlation_id, delivery_state, to_peer_name, routing, wake } = opened;
  if (correlation_id === null) to.print(`would ask ${to_peer_name}`);
  else to.print(styled("cyan", correlation_id), `  ${delivery_state} to ${to_peer_name}`);
  const sleep = wakeSentence(to_peer_name, wake);
  if (sleep !== undefined) to.print(styled("yellow", sleep));
  if (!routing) return;
  const { arm, confidence, fallback_reason } = routing;
  const how = fallback_reason === null
    ? `confidence ${confidence.toFixed(2)}`
    : `the fallback: ${sentenceOf(fallback_reason)}`;
  to.print(styled("dim", `chosen by ${arm}, ${how}`));
}

async function asks(context: CommandContext, args: Args) {
  const { peer, identifiedBy } = await context.sender(args);
  // An anonymous sender has no asks of its own, so the command lists all open asks.
  if (args.flag("all")) return await context.call(listAsks, { query: { limit: "500" } });
  if (identifiedBy === "anonymous") {
    return await context.call(listAsks, { query: { state: "open", limit: "500" } });
  }
  const inbound = args.flag("inbound"), outbound = args.flag("outbound");
  const direction = inbound === outbound ? "both" : inbound ? "inbound" : "outbound";
  return await context.call(pendingAsks, { query: { peer_id: peer, direction } });
}
