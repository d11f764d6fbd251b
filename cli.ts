/** The command table of `mesh`, and the function that runs one command line. */

import { type Clock, systemClock } from "kit/core/clock.ts";
import { VERSION } from "kit/http/contract.ts";
import {
  ackAsk,
  declineAsk,
  listAsks,
  openAsk,
  pendingAsks,
} from "./daemon/features/asks/contract.ts";
import type { Env } from "./daemon/host/paths.ts";
import { getTrace } from "./daemon/features/messages/contract.ts";
import { broadcast, notifyPeer } from "./daemon/features/notifications/contract.ts";
import { listPeers } from "./daemon/features/peers/contract.ts";
import { ATTACH_COMMAND, ATTACH_FLAG, resolveAttachments } from "./cli/commands/attach.ts";
import { waitForReply } from "./cli/commands/reply_wait.ts";
import {
  apiCommand,
  type Args,
  buildParser,
  CIRCLE_FLAG,
  type Command,
  CommandContext,
  FROM_FLAG,
  JSON_FLAG,
  reportError,
} from "./cli/command/command.ts";
import { EXIT } from "./cli/client/failures.ts";
import { completionsFor } from "./cli/commands/daemon/completions.ts";
import { DAEMON_COMMANDS } from "./cli/commands/daemon/daemon.ts";
import { DOCTOR } from "./cli/doctor/doctor_command.ts";
import { INBOX_COMMANDS } from "./cli/commands/inbox.ts";
import { JOB_COMMANDS } from "./cli/commands/jobs.ts";
import { SPAWN_COMMANDS } from "./cli/commands/spawn.ts";
import { print, printJson, processTerminal, styled, type Terminal } from "./cli/output/terminal.ts";
import { OPEN_COMMANDS } from "./cli/commands/daemon/open.ts";
import { PEER_COMMANDS } from "./cli/commands/peers.ts";
import { QUESTION_COMMANDS } from "./cli/commands/questions.ts";
import { ROLES } from "./cli/commands/roles.ts";
import { SCHEDULE_COMMANDS } from "./cli/commands/schedules.ts";
import { SEARCH_COMMANDS, showAny } from "./cli/commands/search.ts";
import { showAsks, showPeers, showTrace } from "./cli/output/views.ts";
import { SELFTEST } from "./cli/selftest/selftest_command.ts";
import { SHARE_COMMANDS } from "./cli/commands/shares.ts";
import { showWelcome } from "./cli/commands/welcome.ts";

const PEER_STATUSES = listPeers.query.shape.status.unwrap().options;

const WAIT_FLAGS = {
  "--wait": "wait for the answer and print it",
  "--timeout <seconds>": "stop waiting after this many seconds; the ask stays open",
} as const;

const ASK_COMMANDS: readonly Command[] = [
  apiCommand({
    usage: "peers",
    summary: "List peers",
    flags: {
      "--all": "include retired peers",
      "--circle <name>": "only peers of this circle",
      "--status <status>": `only peers in this status: one of ${PEER_STATUSES.join(", ")}`,
    },
    example: "mesh peers --circle main",
    call: ({ call }, args) => {
      const status = args.choice("status", PEER_STATUSES);
      return call(listPeers, { query: { circle: args.get("circle"), status } });
    },
    show: ({ peers }, { terminal, clock }, args) => {
      const includeRetired = args.flag("all") || args.get("status") === "retired";
      showPeers(
        terminal,
        includeRetired ? peers : peers.filter((peer) => peer.status !== "retired"),
        clock,
      );
    },
  }),
  {
    usage: "ask <peer> <text>",
    summary: "Ask a peer a question that needs a reply",
    flags: {
      ...WAIT_FLAGS,
      ...CIRCLE_FLAG,
      ...ATTACH_FLAG,
      "--reply-to <id>": "follow up this earlier ask",
      ...FROM_FLAG,
      ...JSON_FLAG,
    },
    example: 'mesh ask api "Which port do you listen on?" --wait',
    run: ask,
  },
  apiCommand({
    usage: "ack <id> [text]",
    summary: "Acknowledge an ask, or answer it with text",
    flags: ATTACH_FLAG,
    example: 'mesh ack ask-3f9c04d1a2b7 "Port 8080"',
    hasSender: true,
    call: async (context, args) => {
      const text = args.get("text");
      const body = {
        correlation_id: args.text("id"),
        from_peer: (await context.sender(args)).peer,
        ...(text !== undefined && { message: await context.readText(text) }),
        ...await resolveAttachments(context, args),
      };
      return await context.call(ackAsk, { body });
    },
    show: ({ close_reason }, { terminal }) =>
      print(terminal, styled("green", "closed"), `: ${close_reason}`),
  }),
  apiCommand({
    usage: "decline <id> <reason>",
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
      print(terminal, styled("green", "closed"), `: ${close_reason}`),
  }),
  apiCommand({
    usage: "notify <peer> <text>",
    summary: "Send a peer a message that needs no reply",
    flags: { ...CIRCLE_FLAG, ...ATTACH_FLAG },
    example: 'mesh notify web "The API moved to port 8080"',
    hasSender: true,
    call: async (context, args) => {
      const text = await context.readText(args.text("text"));
      const from_peer = (await context.sender(args)).peer;
      const to = { to_peer: args.text("peer"), circle: args.get("circle") };
      const body = { from_peer, ...to, text, ...await resolveAttachments(context, args) };
      return await context.call(notifyPeer, { body });
    },
    show: (sent, { terminal }) => {
      const { delivery_state, delivery_id, to_peer_name, reason } = sent;
      const reasonText = reason === null ? "" : ` (${reason})`;
      print(
        terminal,
        styled("green", delivery_state),
        ` to ${to_peer_name}${reasonText}  `,
        styled("dim", delivery_id),
      );
    },
  }),
  apiCommand({
    usage: "broadcast <text>",
    summary: "Send a message to all agents of a circle, but not to the human",
    flags: { "--circle <name>": "the circle to send to" },
    example: 'mesh broadcast "main is green again"',
    hasSender: true,
    call: async (context, args) => {
      const text = await context.readText(args.text("text"));
      const from_peer = (await context.sender(args)).peer;
      return await context.call(broadcast, {
        body: { from_peer, text, circle: args.get("circle") },
      });
    },
    show: ({ sent_to, skipped, failed }, { terminal }) => {
      const names = sent_to.map(({ name }) => name).join(", ");
      const emptyMessage = "sent to nobody; choose another circle with --circle";
      print(terminal, names ? `sent to ${sent_to.length}: ${names}` : emptyMessage);
      for (const { peer_id, reason } of skipped) print(terminal, `skipped ${peer_id}: ${reason}`);
      for (const { peer_id, error } of failed) {
        print(terminal, styled("red", `failed ${peer_id}: ${error}`));
      }
    },
  }),
  apiCommand({
    usage: "asks",
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
    run: showAny,
  },
  apiCommand({
    usage: "trace <id>",
    summary: "Show the recorded stages of a message",
    example: "mesh trace notif-3f9c04d1a2b7",
    call: ({ call }, args) => call(getTrace, { params: { trace_id: args.text("id") } }),
    show: (trace, { terminal }) => showTrace(terminal, trace),
  }),
];

async function ask(context: CommandContext, args: Args): Promise<number> {
  const { terminal } = context;
  // Throws for an invalid timeout before anything is sent.
  args.number("timeout");
  const text = await context.readText(args.text("text"));
  const { peer } = await context.sender(args);
  const opened = await context.call(openAsk, {
    body: {
      from_peer: peer,
      to_peer: args.text("peer"),
      text,
      ...await resolveAttachments(context, args),
      circle: args.get("circle"),
      reply_to: args.get("replyTo"),
      reply_delivery: args.flag("wait") ? "pull" : "push",
    },
  });
  const { correlation_id, to_peer_name, delivery_state } = opened;
  if (args.flag("wait") && correlation_id !== null) {
    return await waitForReply(context, args, { correlation_id, peer_id: peer });
  }
  if (args.flag("json")) printJson(terminal, opened);
  else {print(
      terminal,
      styled("cyan", correlation_id ?? ""),
      `  ${delivery_state} to ${to_peer_name}`,
    );}
  return EXIT.done;
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

/** `main.ts` starts the roles itself, so these entries exist only for `--help` and completions. */
const ROLE_COMMANDS: readonly Command[] = [
  {
    usage: "daemon",
    summary: "Run the daemon in the foreground",
    example: "mesh daemon",
    run: async ({ env }) => await ROLES.daemon(env),
  },
  {
    usage: "relay",
    summary: "Run the relay, which gives remote clients access to daemons",
    example: "RELAY_PORT=8378 mesh relay",
    run: async ({ env }) => await ROLES.relay(env),
  },
  {
    usage: "mcp",
    summary: "Run an MCP server over stdio, for agents that cannot use the daemon's /mcp",
    example: "mesh mcp",
    run: async ({ env }) => (await ROLES.mcp(env), EXIT.done),
  },
  {
    usage: "hook [args...]",
    summary: "Handle an agent's hook event; `mesh setup` installs the hooks",
    example: "mesh hook claude-code UserPromptSubmit",
    run: async ({ env }) => await ROLES.hook(env, []),
  },
];

const SURFACE_COMMAND: Command = {
  usage: "surface telegram",
  summary: "Show your inbox in a Telegram chat and forward your replies, until Ctrl-C",
  example: "mesh surface telegram",
  run: async (context) => {
    const { runTelegram } = await import("./cli/surfaces/telegram/telegram_command.ts");
    return await runTelegram(context);
  },
};

const COMPLETIONS: Command = {
  usage: "completions <shell>",
  summary: "Print completions for bash, zsh or fish",
  example: "source <(mesh completions bash)",
  run: ({ terminal }, args) => {
    terminal.out(completionsFor(args.text("shell"), COMMANDS));
    return Promise.resolve(EXIT.done);
  },
};

export const COMMANDS: readonly Command[] = [
  ...DAEMON_COMMANDS,
  ...OPEN_COMMANDS,
  DOCTOR,
  SELFTEST,
  ...ASK_COMMANDS,
  ...PEER_COMMANDS,
  ...QUESTION_COMMANDS,
  ...SEARCH_COMMANDS,
  ...INBOX_COMMANDS,
  ...JOB_COMMANDS,
  ...SCHEDULE_COMMANDS,
  ...SPAWN_COMMANDS,
  ...SHARE_COMMANDS,
  ATTACH_COMMAND,
  SURFACE_COMMAND,
  ...ROLE_COMMANDS,
  COMPLETIONS,
];

/** The description and version that `mesh --help` and `mesh --version` print. */
export const PROGRAM = {
  summary: "Agent Mesh lets coding agents, and you, ask each other questions.",
  version: VERSION,
};

/** Runs one command line and returns its exit code. */
export async function runCli(
  args: readonly string[],
  env: Env,
  terminal: Terminal = processTerminal(env),
  clock: Clock = systemClock,
): Promise<number> {
  const context = new CommandContext({ args, env, terminal, clock });
  let code: number = EXIT.done;
  try {
    if (args.length === 0) return await showWelcome(context);
    const parser = buildParser(COMMANDS, { ...PROGRAM, terminal }, async (command, args) => {
      code = await command.run(context, args);
    });
    await parser.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    return reportError(error, terminal, { json: args.includes("--json") });
  }
}
