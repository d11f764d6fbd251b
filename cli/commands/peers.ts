/** `mesh peer`, `mesh orphans` and `mesh link`: one peer, and the tmux panes without a peer. */

import type { WireResponse } from "kit/http/client.ts";
import { closePeer, getPeer, renamePeer } from "../../daemon/features/peers/contract.ts";
import { Backend } from "../../daemon/features/agents/contract.ts";
import {
  diagnosePeer,
  killPeer,
  linkPane,
  listOrphans,
  rehookPeer,
} from "../../daemon/features/lifecycle/contract.ts";
import {
  apiCommand,
  type Args,
  CIRCLE_FLAG,
  type Command,
  type CommandContext,
  JSON_FLAG,
} from "../command/command.ts";
import { EXIT } from "../client/failures.ts";
import {
  print,
  printError,
  printFields,
  printJson,
  printTable,
  styled,
  type Terminal,
} from "../output/terminal.ts";
import { formatDuration } from "../output/views.ts";

type Peer = WireResponse<typeof getPeer>;
type Report = WireResponse<typeof diagnosePeer>;

/** The name or id of a peer, and the circle to look it up in. */
function peerParams(args: Args) {
  return { params: { id: args.text("name") }, query: { circle: args.get("circle") } };
}

export const PEER_COMMANDS: readonly Command[] = [
  apiCommand({
    usage: "peer show <name>",
    summary: "Show a peer, the evidence for its state, and any contradictions",
    flags: CIRCLE_FLAG,
    example: "mesh peer show api",
    call: async ({ call }, args) => {
      const peer = await call(getPeer, peerParams(args));
      const params = { id: peer.peer_id };
      return { peer, doctor: await call(diagnosePeer, { params, query: {} }) };
    },
    show: ({ peer, doctor }, { terminal }) => {
      showPeer(terminal, peer);
      showReport(terminal, doctor);
    },
  }),
  apiCommand({
    usage: "peer rename <name> <new-name>",
    summary: "Rename a peer",
    flags: CIRCLE_FLAG,
    example: "mesh peer rename api-claude-code api",
    call: async ({ call }, args) => {
      const { peer_id } = await call(getPeer, peerParams(args));
      const body = { name: args.text("new-name") };
      return await call(renamePeer, { params: { id: peer_id }, query: {}, body });
    },
    show: ({ peer_id, name }, { terminal }) =>
      print(terminal, styled("green", "renamed"), `: ${name}  `, styled("dim", peer_id)),
  }),
  apiCommand({
    usage: "peer close <name>",
    summary: "Remove a peer for good, without ending its process",
    flags: CIRCLE_FLAG,
    example: "mesh peer close api",
    call: ({ call }, args) => call(closePeer, peerParams(args)),
    show: (_, { terminal }) => print(terminal, styled("green", "closed")),
  }),
  apiCommand({
    usage: "peer kill <name>",
    summary: "End a peer's process and retire the peer",
    flags: CIRCLE_FLAG,
    example: "mesh peer kill api",
    call: ({ call }, args) => call(killPeer, { ...peerParams(args), body: {} }),
    show: ({ peer_id, agent_pid, signal }, { terminal }) =>
      print(
        terminal,
        styled("green", "killed"),
        `: process ${agent_pid}, by ${signal}  `,
        styled("dim", peer_id),
      ),
  }),
  apiCommand({
    usage: "peer rehook <name>",
    summary: "Check whether messages reach a peer, and how to fix it",
    flags: { "--apply": "apply the fix", ...CIRCLE_FLAG },
    example: "mesh peer rehook api --apply",
    call: ({ call }, args) => {
      return call(rehookPeer, { ...peerParams(args), body: { apply: args.flag("apply") } });
    },
    show: ({ healthy, acted, would_do, reason, transport }, { terminal }) => {
      const state = healthy
        ? styled("green", `reachable by ${transport}`)
        : styled("yellow", "not reachable");
      print(terminal, state, reason === null ? "" : ` (${reason})`);
      if (would_do !== null) print(terminal, acted ? "did: " : "would: ", would_do);
      if (would_do !== null && !acted) {
        printError(terminal, styled("dim", "Apply it with --apply."));
      }
    },
  }),
  apiCommand({
    usage: "orphans",
    summary: "List tmux panes on this machine that belong to no peer",
    example: "mesh orphans",
    call: ({ call }) => call(listOrphans, {}),
    show: ({ panes }, { terminal }) =>
      printTable(
        terminal,
        [
          { title: "PANE", cell: ({ pane_id }) => styled("cyan", pane_id), essential: true },
          { title: "SESSION", cell: ({ session }) => session },
          { title: "RUNS", cell: ({ command }) => command },
          { title: "LIKELY", cell: ({ backend_hint }) => backend_hint ?? "" },
          { title: "IN", cell: ({ cwd }) => cwd },
          { title: "SERVER", cell: ({ tmux_socket }) => styled("dim", tmux_socket) },
        ],
        panes,
        "There are no tmux panes without a peer.",
      ),
  }),
  {
    usage: "link <pane>",
    summary: "Register the agent in a tmux pane as a peer, if messages can reach it",
    flags: {
      "--backend <backend>": `the agent's backend: one of ${Backend.options.join(", ")}`,
      "--name <name>": "the peer's name",
      "--circle <name>": "the circle it joins",
      "--socket <path>": "the tmux server's socket, if several servers have this pane",
      ...JSON_FLAG,
    },
    example: "mesh link %3 --backend claude-code",
    run: link,
  },
];

async function link({ call, terminal }: CommandContext, args: Args): Promise<number> {
  const backend = args.requiredChoice("backend", Backend.options);
  const params = { pane_id: args.text("pane") };
  const linked = await call(linkPane, {
    params,
    query: {},
    body: {
      backend,
      name: args.get("name"),
      circle: args.get("circle"),
      tmux_socket: args.get("socket"),
    },
  });
  if (args.flag("json")) printJson(terminal, linked);
  else if (linked.linked) {
    print(
      terminal,
      styled("green", "linked"),
      `: ${linked.display_name}  `,
      styled("dim", linked.peer_id),
    );
  } else {
    printError(
      terminal,
      styled("red", "mesh: "),
      `Messages cannot reach that pane: ${linked.reason}`,
    );
    printError(terminal, styled("dim", "hint: "), linked.hint);
  }
  return linked.linked ? EXIT.done : EXIT.refused;
}

function showPeer(to: Terminal, peer: Peer): void {
  printFields(to, {
    peer: styled("cyan", peer.name),
    id: peer.peer_id,
    circle: peer.circle,
    kind: [peer.role, peer.backend, peer.model].filter(Boolean).join(", "),
    status: [peer.status, peer.turn_state].filter(Boolean).join(", "),
    via: `${peer.transport} (${peer.inbound_status})`,
    path: peer.path,
    pane: peer.pane_id,
    parent: peer.parent_peer_id,
    origin: [peer.source, peer.initiator].filter(Boolean).join(", "),
    "takes messages": peer.addressable ? "yes" : peer.addressable_reason ?? "no",
    doing: peer.description,
  });
}

function showReport(to: Terminal, { checks, contradictions }: Report): void {
  print(to);
  printTable(
    to,
    [
      { title: "EVIDENCE", cell: ({ name }) => name, essential: true },
      { title: "SAYS", cell: ({ ok }) => formatOk(ok) },
      { title: "SOURCE", cell: ({ source }) => source ?? "" },
      {
        title: "AGE",
        cell: ({ age_seconds: age }) => age === null ? "" : formatDuration(age * 1000),
      },
      { title: "DETAIL", cell: ({ detail }) => detail },
    ],
    checks,
    "There is no evidence.",
  );
  if (contradictions.length > 0) print(to);
  for (const { code, severity, detail } of contradictions) {
    print(to, styled(severity === "error" ? "red" : "yellow", code), `  ${detail}`);
  }
}

function formatOk(ok: boolean | null) {
  if (ok === null) return "";
  return ok ? styled("green", "yes") : styled("yellow", "no");
}
