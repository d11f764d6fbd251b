/** `mesh peers`: lists peers, and closes offline ones that nothing waits for. */

import type { WireResponse } from "kit/http/client.ts";
import { listPeers, prunePeers } from "protocol/generated/endpoints.ts";
import type { KeptReason } from "protocol/lifecycle.ts";
import { type Args, type Command, type CommandContext, JSON_FLAG } from "../command/command.ts";
import { CommandError, EXIT, UsageError } from "../client/failures.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import { withSubagents } from "../output/children.ts";
import { showPeers } from "../output/views.ts";

type Peers = WireResponse<typeof listPeers>["peers"];
type PruneResult = WireResponse<typeof prunePeers>;

/** Each status once, in the order of the help; the type makes the list complete. */
const IS_STATUS: Readonly<Record<Peers[number]["status"], true>> = {
  online: true,
  busy: true,
  offline: true,
  retired: true,
};
const STATUSES = Object.keys(IS_STATUS);

export const PEERS: Command = {
  usage: "peers",
  runsInDaemon: true,
  aliases: ["ls"],
  summary: "List peers",
  flags: {
    "--all": "include retired peers, and subagents that have ended",
    "--circle <name>": "only peers of this circle",
    "--status <status>": `only peers in this status: one of ${STATUSES.join(", ")}`,
    "--prune": "close the offline peers that nothing waits for",
    "--dry-run": "with --prune: only show what would be closed",
    ...JSON_FLAG,
  },
  example: "mesh peers --circle main",
  run: async (context, args) =>
    args.flag("prune") ? await prune(context, args) : list(context, args),
};

async function list({ call, clock, terminal }: CommandContext, args: Args): Promise<number> {
  if (args.flag("dryRun")) throw new UsageError("--dry-run needs --prune");
  const status = args.choice("status", STATUSES);
  const circle = args.get("circle");
  const answer = await call(listPeers, { query: {} });
  if (circle !== undefined) mustBeCircle(answer.peers, circle);
  const chosen = answer.peers.filter((peer) =>
    (circle === undefined || peer.circle === circle) &&
    (status === undefined || peer.status === status)
  );
  if (args.flag("json")) {
    terminal.printJson({ ...answer, peers: chosen });
    return EXIT.done;
  }
  const includesRetired = args.flag("all") || status === "retired";
  const shown = includesRetired ? chosen : chosen.filter(({ status }) => status !== "retired");
  const { rows, hidden } = withSubagents(shown, { all: args.flag("all") });
  showPeers(terminal, rows, { clock, all: answer.peers });
  if (hidden > 0) terminal.print(styled("dim", `${hidden} more subagents: mesh peers --all`));
  return EXIT.done;
}

/** The names of peers by their ids; the id of one that is gone. */
export async function peerNames(call: CommandContext["call"]): Promise<(id: string) => string> {
  const { peers } = await call(listPeers, { query: {} });
  const names = new Map(peers.map(({ peer_id, name }) => [peer_id, name]));
  return (id) => names.get(id) ?? id;
}

/** Refuses a circle without peers: a message to it would reach nobody. */
export async function mustKnowCircle(
  { call }: Pick<CommandContext, "call">,
  circle: string | undefined,
): Promise<void> {
  if (circle === undefined) return;
  mustBeCircle((await call(listPeers, { query: {} })).peers, circle);
}

function mustBeCircle(peers: Peers, circle: string): void {
  const circles = new Set(peers.map((peer) => peer.circle));
  if (circles.has(circle)) return;
  const known = [...circles].sort().join(", ");
  throw new CommandError(
    `Unknown circle: ${circle}\n${known ? `The circles are: ${known}` : "There are no peers yet"}`,
  );
}

async function prune({ call, terminal }: CommandContext, args: Args): Promise<number> {
  if (args.get("circle") !== undefined || args.get("status") !== undefined) {
    throw new UsageError("--prune closes peers of all circles; it takes no --circle or --status");
  }
  const pruned = await call(prunePeers, { body: { dry_run: args.flag("dryRun") } });
  if (args.flag("json")) terminal.printJson(pruned);
  else showPruned(terminal, pruned);
  return EXIT.done;
}

/** The reason why an offline peer stays. */
const KEPT: Readonly<Record<KeptReason, string>> = {
  open_asks: "asks to it or from it are open",
  queued_messages: "messages wait for it",
  running: "its process is running",
  restart: "it is being restarted",
  jobs: "it has jobs that are not done",
  schedules: "scheduled messages name it",
  surface: "it shows your inbox when it is connected",
  human: "it is you",
};

function showPruned(to: Terminal, { dry_run, closed, kept }: PruneResult): void {
  const action = dry_run ? styled("yellow", "would close") : styled("green", "closed");
  for (const { name, circle, peer_id } of closed) {
    to.print(action, ` ${name} in ${circle}  `, styled("dim", peer_id));
  }
  for (const { name, circle, peer_id, reason } of kept) {
    to.print("kept ", `${name} in ${circle}: ${KEPT[reason]}  `, styled("dim", peer_id));
  }
  if (closed.length + kept.length === 0) to.print("No peer is offline.");
}
