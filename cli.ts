/** The table of commands: what is typed, which contract answers, how people see the answer. */

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
import { listPeers, PeerStatus } from "./daemon/features/peers/contract.ts";
import { ATTACH_COMMAND, ATTACH_FLAG, attached } from "./cli/commands/attach.ts";
import { waitForReply } from "./cli/commands/asking.ts";
import {
  type Command,
  explain,
  JSON_FLAG,
  parserOf,
  Session,
  verb,
  type Words,
} from "./cli/command/command.ts";
import { EXIT, Misused } from "./cli/client/failures.ts";
import { completionsFor } from "./cli/commands/daemon/completions.ts";
import { DAEMON_COMMANDS } from "./cli/commands/daemon/daemon.ts";
import { DOCTOR } from "./cli/doctor/doctor_command.ts";
import { INBOX_COMMANDS } from "./cli/commands/inbox.ts";
import { JOB_COMMANDS } from "./cli/commands/jobs.ts";
import { SPAWN_COMMANDS } from "./cli/commands/spawn.ts";
import { ink, print, printJson, processTerminal, type Terminal } from "./cli/output/print.ts";
import { OPEN_COMMANDS } from "./cli/commands/daemon/open.ts";
import { PEER_COMMANDS } from "./cli/commands/peers.ts";
import { QUESTION_COMMANDS } from "./cli/commands/questions.ts";
import { ROLES } from "./cli/commands/roles.ts";
import { SCHEDULE_COMMANDS } from "./cli/commands/schedules.ts";
import { SEARCH_COMMANDS, showAny } from "./cli/commands/search.ts";
import { showAsks, showPeers, showTrace } from "./cli/output/show.ts";
import { SELFTEST } from "./cli/selftest/selftest_command.ts";
import { SHARE_COMMANDS } from "./cli/commands/shares.ts";
import { SURFACE_COMMANDS } from "./cli/surfaces/surface_commands.ts";
import { welcome } from "./cli/commands/welcome.ts";

const WAIT_FLAGS = {
  "--wait": "wait for the answer and print it",
  "--timeout <seconds>": "give up waiting after so long; the ask stays open",
} as const;
const CIRCLE_FLAG = { "--circle <name>": "look for the name in this circle" } as const;

const ASK_COMMANDS: readonly Command[] = [
  verb({
    words: "peers",
    summary: "List who is here",
    flags: {
      "--all": "retired ones too",
      "--circle <name>": "of this circle only",
      "--status <status>": `one of ${PeerStatus.options.join(", ")}`,
    },
    example: "mesh peers --circle main",
    call: ({ call }, words) => {
      const status = PeerStatus.optional().safeParse(words.maybe("status"));
      if (!status.success) throw new Misused(`--status: one of ${PeerStatus.options.join(", ")}`);
      return call(listPeers, { query: { circle: words.maybe("circle"), status: status.data } });
    },
    show: ({ peers }, { terminal, clock }, words) => {
      const wanted = words.flag("all") || words.maybe("status") === "retired";
      showPeers(terminal, wanted ? peers : peers.filter((p) => p.status !== "retired"), clock);
    },
  }),
  {
    words: "ask <peer> <text>",
    summary: "Ask a peer a question that needs a reply",
    flags: {
      ...WAIT_FLAGS,
      ...CIRCLE_FLAG,
      ...ATTACH_FLAG,
      "--reply-to <id>": "the ask that this one follows up",
      "--from <peer>": "who speaks",
      ...JSON_FLAG,
    },
    example: 'mesh ask api "Which port do you listen on?" --wait',
    run: ask,
  },
  verb({
    words: "ack <id> [text]",
    summary: "Acknowledge an ask, or answer it with a text",
    flags: ATTACH_FLAG,
    example: 'mesh ack ask-3f9c04d1a2b7 "Port 8080"',
    speaks: true,
    call: async (session, words) => {
      const text = words.maybe("text");
      const body = {
        correlation_id: words.text("id"),
        from_peer: (await session.sender(words)).peer,
        ...(text !== undefined && { message: await session.said(text) }),
        ...await attached(session, words),
      };
      return await session.call(ackAsk, { body });
    },
    show: ({ close_reason }, { terminal }) =>
      print(terminal, ink("green", "closed"), `: ${close_reason}`),
  }),
  verb({
    words: "decline <id> <reason>",
    summary: "Close an ask unanswered; the reason goes to the asker",
    example: 'mesh decline ask-3f9c04d1a2b7 "Not my part of the code; ask web"',
    speaks: true,
    call: async (session, words) => {
      const reason = await session.said(words.text("reason"));
      const from_peer = (await session.sender(words)).peer;
      const body = { correlation_id: words.text("id"), reason, from_peer };
      return await session.call(declineAsk, { body });
    },
    show: ({ close_reason }, { terminal }) =>
      print(terminal, ink("green", "closed"), `: ${close_reason}`),
  }),
  verb({
    words: "notify <peer> <text>",
    summary: "Tell a peer something that needs no reply",
    flags: { ...CIRCLE_FLAG, ...ATTACH_FLAG },
    example: 'mesh notify web "The API moved to port 8080"',
    speaks: true,
    call: async (session, words) => {
      const text = await session.said(words.text("text"));
      const from_peer = (await session.sender(words)).peer;
      const to = { to_peer: words.text("peer"), circle: words.maybe("circle") };
      const body = { from_peer, ...to, text, ...await attached(session, words) };
      return await session.call(notifyPeer, { body });
    },
    show: (sent, { terminal }) => {
      const { delivery_state, delivery_id, to_peer_name, reason } = sent;
      const why = reason === null ? "" : ` (${reason})`;
      print(
        terminal,
        ink("green", delivery_state),
        ` to ${to_peer_name}${why}  `,
        ink("dim", delivery_id),
      );
    },
  }),
  verb({
    words: "broadcast <text>",
    summary: "Tell the agents of a circle; never the human",
    flags: { "--circle <name>": "tell this circle" },
    example: 'mesh broadcast "main is green again"',
    speaks: true,
    call: async (session, words) => {
      const text = await session.said(words.text("text"));
      const from_peer = (await session.sender(words)).peer;
      return await session.call(broadcast, {
        body: { from_peer, text, circle: words.maybe("circle") },
      });
    },
    show: ({ sent_to, skipped, failed }, { terminal }) => {
      const names = sent_to.map(({ name }) => name).join(", ");
      const nobody = "sent to nobody; --circle names another circle";
      print(terminal, names ? `sent to ${sent_to.length}: ${names}` : nobody);
      for (const { peer_id, reason } of skipped) print(terminal, `skipped ${peer_id}: ${reason}`);
      for (const { peer_id, error } of failed) {
        print(terminal, ink("red", `failed ${peer_id}: ${error}`));
      }
    },
  }),
  verb({
    words: "asks",
    summary: "List open asks to and from you",
    flags: {
      "--inbound": "only those to you",
      "--outbound": "only those from you",
      "--all": "everybody's, closed ones too",
    },
    example: "mesh asks --inbound",
    speaks: true,
    call: asks,
    show: ({ asks }, { terminal, clock }) => showAsks(terminal, asks, clock),
  }),
  {
    words: "show <id>",
    summary: "Show an ask, an inbox item, or any other message",
    flags: { ...WAIT_FLAGS, ...JSON_FLAG },
    example: "mesh show ask-3f9c04d1a2b7",
    run: showAny,
  },
  verb({
    words: "trace <id>",
    summary: "Show the recorded stages of a message",
    example: "mesh trace notif-3f9c04d1a2b7",
    call: ({ call }, words) => call(getTrace, { params: { trace_id: words.text("id") } }),
    show: (trace, { terminal }) => showTrace(terminal, trace),
  }),
];

async function ask(session: Session, words: Words): Promise<number> {
  const { terminal } = session;
  // Read before anything is sent: wrong usage asks nobody.
  words.number("timeout");
  const text = await session.said(words.text("text"));
  const { peer } = await session.sender(words);
  const opened = await session.call(openAsk, {
    body: {
      from_peer: peer,
      to_peer: words.text("peer"),
      text,
      ...await attached(session, words),
      circle: words.maybe("circle"),
      reply_to: words.maybe("replyTo"),
      reply_delivery: words.flag("wait") ? "pull" : "push",
    },
  });
  const { correlation_id, to_peer_name, delivery_state } = opened;
  if (words.flag("wait") && correlation_id !== null) {
    return await waitForReply(session, words, { correlation_id, peer_id: peer });
  }
  if (words.flag("json")) printJson(terminal, opened);
  else print(terminal, ink("cyan", correlation_id ?? ""), `  ${delivery_state} to ${to_peer_name}`);
  return EXIT.done;
}

async function asks(session: Session, words: Words) {
  const { peer, known } = await session.sender(words);
  // Nobody in particular has no asks of its own: it sees everybody's open ones.
  if (words.flag("all")) return await session.call(listAsks, { query: { limit: "500" } });
  if (known === "nobody") {
    return await session.call(listAsks, { query: { state: "open", limit: "500" } });
  }
  const inbound = words.flag("inbound"), outbound = words.flag("outbound");
  const direction = inbound === outbound ? "both" : inbound ? "inbound" : "outbound";
  return await session.call(pendingAsks, { query: { peer_id: peer, direction } });
}

/** Roles are started by `main.ts`; here they only have their help. */
const ROLE_COMMANDS: readonly Command[] = [
  {
    words: "daemon",
    summary: "Run the daemon in the foreground",
    example: "mesh daemon",
    run: async ({ env }) => await ROLES.daemon(env),
  },
  {
    words: "relay",
    summary: "Run the relay, the hosted door for remote clients",
    example: "RELAY_PORT=8378 mesh relay",
    run: async ({ env }) => await ROLES.relay(env),
  },
  {
    words: "mcp",
    summary: "Speak MCP over stdio, for agents that cannot use the daemon's own /mcp",
    example: "mesh mcp",
    run: async ({ env }) => (await ROLES.mcp(env), EXIT.done),
  },
  {
    words: "hook [words...]",
    summary: "What agents' hooks call; `mesh setup` installs them",
    example: "mesh hook claude-code UserPromptSubmit",
    run: async ({ env }) => await ROLES.hook(env, []),
  },
];

const COMPLETIONS: Command = {
  words: "completions <shell>",
  summary: "Print completions for bash, zsh or fish",
  example: "source <(mesh completions bash)",
  run: ({ terminal }, words) => {
    terminal.out(completionsFor(words.text("shell"), COMMANDS));
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
  ...SURFACE_COMMANDS,
  ...ROLE_COMMANDS,
  COMPLETIONS,
];

/** What the help of the whole program begins with. */
export const ABOUT = {
  summary: "Agent Mesh: lets coding agents, and you, ask each other.",
  version: VERSION,
};

/** Runs one command line, and answers its exit code. */
export async function runCli(
  args: readonly string[],
  env: Env,
  terminal: Terminal = processTerminal(env),
  clock: Clock = systemClock,
): Promise<number> {
  const session = new Session({ args, env, terminal, clock });
  let code: number = EXIT.done;
  try {
    if (args.length === 0) return await welcome(session);
    const parser = parserOf(COMMANDS, { ...ABOUT, terminal }, async (command, words) => {
      code = await command.run(session, words);
    });
    await parser.parseAsync(args, { from: "user" });
    return code;
  } catch (fault) {
    return explain(fault, terminal, { json: args.includes("--json") });
  }
}
