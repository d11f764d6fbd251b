/**
 * `mesh tag`, `mesh interrupt`, `mesh wake`, `mesh peer set`, `move` and `kill`: commands that
 * change peers.
 */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import type { GivenSettings } from "protocol/peers/groups.ts";
import type { InterruptOutcome } from "protocol/interrupts.ts";
import {
  getPeer,
  interruptPeer,
  killPeer,
  listGroup,
  setPeer,
  wakePeer,
} from "protocol/generated/endpoints.ts";
import {
  answerCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
} from "../command/command.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import { EXIT, UsageError } from "../client/failures.ts";
import { styled, type Terminal } from "../output/terminal.ts";

type Peer = WireResponse<typeof setPeer>;

const WAKE_POLICIES = ["never", "ask", "always"] as const;
const REMINDERS = { on: true, off: false, default: null } as const;

const INTERRUPT_WORDS = {
  interrupted: ["green", "interrupted"],
  ended: ["green", "over"],
  not_busy: ["dim", "not busy"],
  asked: ["yellow", "not proved"],
} as const satisfies Record<InterruptOutcome, readonly [string, string]>;

/** The result for one peer of a group: the ended peer, or the error. */
interface GroupKill {
  readonly peer_id: string;
  readonly name: string;
  readonly killed: WireResponse<typeof killPeer> | null;
  readonly error: string | null;
}

export const PEER_SETTING_COMMANDS: readonly Command[] = [
  answerCommand({
    usage: "tag <peer> [changes...]",
    summary: "Show a peer's tags, or change them: +TAG adds one, -TAG removes one",
    details: "`@TAG` then stands for all peers with it: mesh ask-many @backend TEXT, mesh notify " +
      "@backend TEXT, mesh peer kill @backend. Options come before the peer.",
    flags: CIRCLE_FLAG,
    example: "mesh tag api +backend -web",
    takesProgram: true,
    call: async (context, args) => {
      const changes = args.list("changes");
      if (changes.length === 0) return await find(context, args);
      const option = changes.find((change) => change.startsWith("--"));
      if (option !== undefined) {
        throw new UsageError(`Give ${option} before the peer: mesh tag ${option} api +backend`);
      }
      const body = {
        add_tags: changes.filter((change) => !change.startsWith("-")).map((change) =>
          change.replace(/^\+/, "")
        ),
        remove_tags: changes.flatMap((change) => change.startsWith("-") ? change.slice(1) : []),
      };
      return await change(context, args, body);
    },
    show: (peer, { terminal }) => showSettings(terminal, peer),
  }),
  answerCommand({
    usage: "interrupt <peer>",
    summary: "Stop what a peer does now, as its user would; it goes on running",
    details: "Only while it is proved to be in a turn, and never at a dialog. For a person, and " +
      "for the orchestrator of its circle. Exit 0 if no turn runs any more, 1 if nothing shows " +
      "that it has stopped: then look at its terminal, or `mesh peer kill` it.",
    flags: CIRCLE_FLAG,
    example: "mesh interrupt api",
    call: async (context, args) =>
      await context.call(interruptPeer, { ...await context.peerRequest(args), body: {} }),
    show: ({ outcome, detail, peer_id }, { terminal }) => {
      const [colour, word] = INTERRUPT_WORDS[outcome];
      terminal.print(styled(colour, word), `: ${detail}  `, styled("dim", peer_id));
    },
    exitCode: ({ outcome }) => outcome === "asked" ? EXIT.refused : EXIT.done,
  }),
  answerCommand({
    usage: "wake <peer>",
    summary: "Start a sleeping agent again with its session; it then stays awake",
    details: "For a person. What waits for the agent is delivered once it runs. daemon.wake says " +
      "what asks do to a sleeping agent; mesh peer set NAME --wake changes it for one.",
    flags: CIRCLE_FLAG,
    example: "mesh wake api",
    call: async (context, args) =>
      await context.call(wakePeer, { ...await context.peerRequest(args), body: {} }),
    show: ({ name, peer_id, wake }, { terminal }) => {
      const text = wakeSentence(name, wake) ?? `${name} is awake`;
      terminal.print(styled("green", text), "  ", styled("dim", peer_id));
    },
  }),
  answerCommand({
    usage: "peer set <peer>",
    summary:
      "Change a peer's settings: tags, description, hooks; limits and wakes only as a person",
    flags: {
      "--tag <tag> ...": "give it this tag",
      "--untag <tag> ...": "take this tag from it",
      "--description <text>": "what it works on, for a quarter of an hour",
      "--reminders <choice>":
        "whether it is reminded of open asks as it stops: on, off, or default (asks.reminders)",
      "--hook-messages <choice>":
        "whether its hooks hand it messages: on, or off to wait for another transport",
      "--wake <choice>":
        "what asks do while it sleeps: never, ask (the human), always, or default (daemon.wake)",
      "--queue-max <count>":
        "how many messages may wait for it, or default (daemon.queue.max_per_peer)",
      "--per-minute <count>":
        "how many messages a minute one sender may send it: 0 for any number, or default " +
        "(daemon.limits.pair_per_minute)",
      ...CIRCLE_FLAG,
    },
    example: "mesh peer set api --tag backend --reminders off",
    call: async (context, args) => {
      const options = Object.keys(REMINDERS) as (keyof typeof REMINDERS)[];
      const reminders = args.choice("reminders", options);
      const description = args.get("description");
      const hooks = args.choice("hookMessages", ["on", "off"]);
      const settings = {
        description,
        reminders: reminders && REMINDERS[reminders],
        hook_messages: hooks && hooks === "on",
        wake: wakeOf(args),
        queue_max: limitOf(args, "queueMax"),
        pair_per_minute: limitOf(args, "perMinute"),
      };
      const add_tags = args.list("tag"), remove_tags = args.list("untag");
      const given = [...Object.values(settings), ...add_tags, ...remove_tags];
      if (given.every((value) => value === undefined)) {
        throw new UsageError("Nothing to change: give an option; mesh help peer set lists them");
      }
      return await change(context, args, { ...settings, add_tags, remove_tags });
    },
    show: (peer, { terminal }) => showSettings(terminal, peer),
  }),
  answerCommand({
    usage: "peer move <peer> <circle>",
    summary: "Move a peer to another circle, with its queue and its open asks; only for a person",
    flags: { "--from-circle <name>": "look up the peer's name in this circle" },
    example: "mesh peer move api main",
    call: async (context, args) => {
      const params = { id: args.text("peer") }, query = { circle: args.get("fromCircle") };
      const { peer_id } = await context.call(getPeer, { params, query });
      const body = { circle: args.text("circle") };
      return await context.call(setPeer, { params: { id: peer_id }, query: {}, body });
    },
    show: ({ name, circle, peer_id }, { terminal }) =>
      terminal.print(styled("green", "moved"), `: ${name} to ${circle}  `, styled("dim", peer_id)),
  }),
  answerCommand({
    usage: "peer kill <peer>",
    summary: "End the process of a peer, or of each peer of an @tag, and retire it",
    flags: CIRCLE_FLAG,
    example: "mesh peer kill api",
    call: async (context, args) => {
      const query = await context.lookup(args);
      const id = args.text("peer");
      if (id.startsWith("@")) return await killGroup(context, id.slice(1), query);
      return await context.call(killPeer, { params: { id }, query, body: {} });
    },
    show: (answer, { terminal }) => {
      if (!("group" in answer)) return showKilled(terminal, answer);
      for (const { name, killed, error } of answer.group) {
        if (killed) showKilled(terminal, killed, `${name}: `);
        else terminal.print(styled("red", "not killed"), `: ${name}: ${error}`);
      }
    },
    exitCode: (answer) =>
      "group" in answer && answer.group.some(({ killed }) => killed === null)
        ? EXIT.refused
        : EXIT.done,
  }),
];

/** The effect of asks while the peer sleeps; null for that of all peers. */
function wakeOf(args: Args): GivenSettings["wake"] {
  const choice = args.choice("wake", [...WAKE_POLICIES, "default"]);
  return choice === "default" ? null : choice;
}

/** A limit of the peer's own; null for that of all peers. */
function limitOf(args: Args, name: string): number | null | undefined {
  return args.get(name) === "default" ? null : args.number(name);
}

async function find(context: CommandContext, args: Args): Promise<Peer> {
  return await context.call(getPeer, await context.peerRequest(args));
}

async function change(context: CommandContext, args: Args, body: GivenSettings): Promise<Peer> {
  const { peer_id } = await find(context, args);
  return await context.call(setPeer, { params: { id: peer_id }, query: {}, body });
}

/** Ends the peers of a tag one after another. A refusal does not stop the others. */
async function killGroup(
  { call }: CommandContext,
  tag: string,
  query: Awaited<ReturnType<CommandContext["lookup"]>>,
): Promise<{ group: GroupKill[] }> {
  const { peers } = await call(listGroup, { params: { tag }, query });
  const group: GroupKill[] = [];
  for (const { peer_id, name } of peers) {
    try {
      const killed = await call(killPeer, { params: { id: peer_id }, query: {}, body: {} });
      group.push({ peer_id, name, killed, error: null });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      group.push({ peer_id, name, killed: null, error: error.message });
    }
  }
  return { group };
}

function showKilled(to: Terminal, killed: WireResponse<typeof killPeer>, name = ""): void {
  const { agent_pid, signal, peer_id } = killed;
  to.print(
    styled("green", "killed"),
    `: ${name}process ${agent_pid}, by ${signal}  `,
    styled("dim", peer_id),
  );
}

function showSettings(to: Terminal, peer: Peer): void {
  const { name, tags, reminders, hook_messages, queue_max, pair_per_minute, description } = peer;
  const { wake_policy } = peer;
  to.printFields({
    peer: styled("cyan", name),
    tags: tags.map((tag) => `@${tag}`).join(" ") || "none",
    reminders: reminders === null ? "as asks.reminders says" : reminders ? "on" : "off",
    "hook messages": hook_messages ? "on" : "off",
    wake: wake_policy ?? "as daemon.wake says",
    "queue max": queue_max?.toString() ?? "as daemon.queue.max_per_peer says",
    "per minute": pair_per_minute === 0
      ? "any number"
      : pair_per_minute?.toString() ?? "as daemon.limits.pair_per_minute says",
    doing: description,
  });
}
