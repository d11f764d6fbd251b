/** `mesh peer`, `mesh orphans` and `mesh link`: one peer, and the tmux panes without a peer. */

import type { WireResponse } from "kit/http/client.ts";
import {
  closePeer,
  diagnosePeer,
  getPeer,
  linkPane,
  listOrphans,
  rehookPeer,
  renamePeer,
} from "protocol/generated/endpoints.ts";
import { budgetLine, loopSentence } from "protocol/derived/budgets.ts";
import { waitSentence } from "protocol/derived/waits.ts";
import { recordSentence } from "protocol/derived/proofs.ts";
import { wakeSentence } from "protocol/derived/wakes.ts";
import { addressFor } from "../../daemon/host/terminal_addresses.ts";
import { Backend } from "protocol/agents/contract.ts";
import { answerCommand, CIRCLE_FLAG, type Command } from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import { showChildren } from "../output/children.ts";
import { formatReason } from "protocol/derived/delivery_state.ts";
import { findBudgets } from "./sessions/budgets.ts";
import { styled, type Terminal } from "../output/terminal.ts";
import { formatDuration } from "../output/time.ts";
import { viaOf } from "../output/views.ts";
import { peerNames } from "./peer_list.ts";

type Peer = WireResponse<typeof getPeer>;
type Report = WireResponse<typeof diagnosePeer>;

const NO_ORPHANS = "No pane of your tmux servers is without a peer.";

export const SHOW_PEER: Command = answerCommand({
  usage: "peer show <peer>",
  summary: "Show a peer, the evidence for its state, and any contradictions",
  flags: CIRCLE_FLAG,
  example: "mesh peer show api",
  call: async (context, args) => {
    const { call } = context;
    const peer = await call(getPeer, await context.peerRequest(args));
    const params = { id: peer.peer_id };
    return { peer, doctor: await call(diagnosePeer, { params, query: {} }) };
  },
  show: async ({ peer, doctor }, { terminal, clock, call }) => {
    const { parent_peer_id } = peer;
    const parent = parent_peer_id && (await peerNames(call))(parent_peer_id);
    const budgets = await findBudgets(call, { peer: peer.peer_id, open: "true" });
    showPeer(terminal, peer, { parent, budgets: budgets.map((budget) => budgetLine(budget)) });
    showChildren(terminal, peer, clock);
    showReport(terminal, doctor);
  },
});

export const PEER_COMMANDS: readonly Command[] = [
  SHOW_PEER,
  answerCommand({
    usage: "peer rename <peer> <new-name>",
    summary: "Rename a peer",
    flags: CIRCLE_FLAG,
    example: "mesh peer rename api-claude-code api",
    call: async (context, args) => {
      const { call } = context;
      const { peer_id } = await call(getPeer, await context.peerRequest(args));
      const body = { name: args.text("new-name") };
      return await call(renamePeer, { params: { id: peer_id }, query: {}, body });
    },
    show: ({ peer_id, name }, { terminal }) =>
      terminal.print(styled("green", "renamed"), `: ${name}  `, styled("dim", peer_id)),
  }),
  answerCommand({
    usage: "peer close <peer>",
    aliases: ["remove", "rm"],
    summary: "Remove a peer for good, without ending its process",
    flags: CIRCLE_FLAG,
    example: "mesh peer close api",
    call: async (context, args) => context.call(closePeer, await context.peerRequest(args)),
    show: (_, { terminal }) => terminal.print(styled("green", "closed")),
  }),
  answerCommand({
    usage: "peer rehook <peer>",
    summary: "Check whether messages reach a peer, and how to fix it",
    flags: { "--apply": "apply the fix", ...CIRCLE_FLAG },
    example: "mesh peer rehook api --apply",
    call: async (context, args) => {
      const body = { apply: args.flag("apply") };
      return await context.call(rehookPeer, { ...await context.peerRequest(args), body });
    },
    show: ({ healthy, acted, would_do, reason, transport }, { terminal }) => {
      const state = healthy
        ? styled("green", `reachable by ${transport}`)
        : styled("yellow", "not reachable");
      terminal.print(state, reason === null ? "" : ` (${reason})`);
      if (would_do !== null) terminal.print(acted ? "did: " : "would: ", would_do);
      if (would_do !== null && !acted) {
        terminal.printError(styled("dim", "Apply it with --apply."));
      }
    },
  }),
  answerCommand({
    usage: "orphans",
    summary: "List panes on this machine that belong to no peer",
    example: "mesh orphans",
    call: ({ call }) => call(listOrphans, {}),
    show: ({ panes }, { terminal }) =>
      terminal.printTable(panes, {
        PANE: ({ pane_id }) => styled("cyan", pane_id),
        SESSION: ({ session }) => session,
        RUNS: ({ command }) => command,
        LIKELY: ({ backend_hint }) => backend_hint ?? "",
        IN: ({ cwd }) => cwd,
        SERVER: ({ tmux_socket }) => styled("dim", tmux_socket),
      }, { whole: ["PANE"], empty: NO_ORPHANS }),
  }),
  answerCommand({
    usage: "link <pane>",
    summary: "Register the agent in a tmux pane or kitty window as a peer, if messages reach it",
    flags: {
      "--backend <backend>": `the agent's backend: one of ${Backend.options.join(", ")}`,
      "--name <name>": "the peer's name",
      "--circle <name>": "the circle it joins",
      "--socket <path>":
        "the tmux server's socket, if several servers have this pane, or kitty: and kitty's socket",
    },
    example: "mesh link %3 --backend claude-code",
    call: ({ call, env }, args) =>
      call(linkPane, {
        params: { pane_id: args.text("pane") },
        query: {},
        body: {
          backend: args.requiredChoice("backend", Backend.options),
          name: args.get("name"),
          circle: args.get("circle"),
          tmux_socket: args.get("socket") ?? addressFor(args.text("pane"), env),
        },
      }),
    show: (linked, { terminal }) => {
      if (linked.linked) {
        const { display_name, peer_id } = linked;
        terminal.print(styled("green", "linked"), `: ${display_name}  `, styled("dim", peer_id));
      } else {
        const { reason, hint } = linked;
        terminal.printError(styled("red", "mesh: "), `Messages cannot reach that pane: ${reason}`);
        terminal.printError(styled("dim", "hint: "), hint);
      }
    },
    exitCode: ({ linked }) => linked ? EXIT.done : EXIT.refused,
  }),
];

function showPeer(
  to: Terminal,
  peer: Peer,
  { parent, budgets }: { readonly parent: string | null; readonly budgets: readonly string[] },
): void {
  to.printFields({
    peer: styled("cyan", peer.name),
    id: peer.peer_id,
    circle: peer.circle,
    kind: [peer.role, peer.backend, peer.model].filter(Boolean).join(", "),
    status: [peer.status, peer.turn_state].filter(Boolean).join(", "),
    "waits for": waitSentence(peer),
    sleep: wakeSentence(peer.name, peer.wake),
    looping: loopSentence(peer),
    budget: budgets.join("; ") || null,
    answers: recordSentence(peer),
    via: viaOf(peer),
    reason: peer.inbound_reason && formatReason(peer.inbound_reason),
    path: peer.path,
    pane: peer.terminal === "kitty" ? `kitty window ${peer.pane_id}` : peer.pane_id,
    parent,
    origin: [peer.source, peer.initiator].filter(Boolean).join(", "),
    "takes messages": peer.addressable ? "yes" : peer.addressable_reason ?? "no",
    doing: peer.description,
    tags: peer.tags.map((tag) => `@${tag}`).join(" ") || null,
  });
}

function showReport(to: Terminal, { checks, contradictions }: Report): void {
  to.print();
  to.printTable(checks, {
    EVIDENCE: ({ name }) => name,
    SAYS: ({ ok }) => formatOk(ok),
    SOURCE: ({ source }) => source ?? "",
    AGE: ({ age_seconds: age }) => age === null ? "" : formatDuration(age * 1000),
    DETAIL: ({ detail }) => detail,
  }, { essential: ["EVIDENCE"], empty: "There is no evidence." });
  if (contradictions.length > 0) to.print();
  for (const { code, severity, detail } of contradictions) {
    to.print(styled(severity === "error" ? "red" : "yellow", code), `  ${detail}`);
  }
}

function formatOk(ok: boolean | null) {
  if (ok === null) return "";
  return ok ? styled("green", "yes") : styled("yellow", "no");
}
