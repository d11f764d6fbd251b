/** Commands about one peer's life, and about panes that no peer is bound to. */

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
  type Command,
  type CommandContext,
  JSON_FLAG,
} from "../command/command.ts";
import { EXIT, UsageError } from "../client/failures.ts";
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

const CIRCLE_FLAG = { "--circle <name>": "look for the name in this circle" } as const;

/** The peer that is named, and where it is looked for. */
function peerParams(args: Args) {
  return { params: { id: args.text("name") }, query: { circle: args.get("circle") } };
}

export const PEER_COMMANDS: readonly Command[] = [
  apiCommand({
    usage: "peer show <name>",
    summary: "Show a peer, the evidence of it, and what contradicts itself",
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
    usage: "peer rename <name> <fresh>",
    summary: "Give a peer another name",
    flags: CIRCLE_FLAG,
    example: "mesh peer rename api-claude-code api",
    call: async ({ call }, args) => {
      const { peer_id } = await call(getPeer, peerParams(args));
      const body = { name: args.text("fresh") };
      return await call(renamePeer, { params: { id: peer_id }, query: {}, body });
    },
    show: ({ peer_id, name }, { terminal }) =>
      print(terminal, styled("green", "renamed"), `: ${name}  `, styled("dim", peer_id)),
  }),
  apiCommand({
    usage: "peer close <name>",
    summary: "Close a peer and remove it for good; its process is left alone",
    flags: CIRCLE_FLAG,
    example: "mesh peer close api",
    call: ({ call }, args) => call(closePeer, peerParams(args)),
    show: (_, { terminal }) => print(terminal, styled("green", "closed")),
  }),
  apiCommand({
    usage: "peer kill <name>",
    summary: "End a peer's own process, and retire the peer",
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
    summary: "Say whether messages reach a peer, and what would help",
    flags: { "--apply": "do it", ...CIRCLE_FLAG },
    example: "mesh peer rehook api --apply",
    call: ({ call }, args) => {
      return call(rehookPeer, { ...peerParams(args), body: { apply: args.flag("apply") } });
    },
    show: ({ healthy, acted, would_do, reason, transport }, { terminal }) => {
      const state = healthy
        ? styled("green", `reachable by ${transport}`)
        : styled("yellow", "not reached");
      print(terminal, state, reason === null ? "" : ` (${reason})`);
      if (would_do !== null) print(terminal, acted ? "did: " : "would: ", would_do);
      if (would_do !== null && !acted) printError(terminal, styled("dim", "Do it with --apply."));
    },
  }),
  apiCommand({
    usage: "orphans",
    summary: "List tmux panes of this machine that no peer is bound to",
    example: "mesh orphans",
    call: ({ call }) => call(listOrphans, {}),
    show: ({ panes }, { terminal }) =>
      printTable(
        terminal,
        [
          { title: "PANE", cell: ({ pane_id }) => styled("cyan", pane_id), essential: true },
          { title: "SESSION", cell: ({ session }) => session },
          { title: "RUNS", cell: ({ command }) => command },
          { title: "PERHAPS", cell: ({ backend_hint }) => backend_hint ?? "" },
          { title: "IN", cell: ({ cwd }) => cwd },
          { title: "SERVER", cell: ({ tmux_socket }) => styled("dim", tmux_socket) },
        ],
        panes,
        "Every pane is bound to a peer, or there is no tmux server here.",
      ),
  }),
  {
    usage: "link <pane>",
    summary: "Register the agent in a tmux pane, if messages reach it",
    flags: {
      "--backend <backend>": `what it is: one of ${Backend.options.join(", ")}`,
      "--name <name>": "what to call it",
      "--circle <name>": "the circle that it joins",
      "--socket <path>": "the tmux server, where several have such a pane",
      ...JSON_FLAG,
    },
    example: "mesh link %3 --backend claude-code",
    run: link,
  },
];

async function link({ call, terminal }: CommandContext, args: Args): Promise<number> {
  const backend = Backend.safeParse(args.get("backend"));
  if (!backend.success) throw new UsageError(`--backend: one of ${Backend.options.join(", ")}`);
  const params = { pane_id: args.text("pane") };
  const linked = await call(linkPane, {
    params,
    query: {},
    body: {
      backend: backend.data,
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
    printError(terminal, styled("red", "mesh: "), `Nothing reaches that pane: ${linked.reason}`);
    printError(terminal, styled("dim", "hint: "), linked.hint);
  }
  return linked.linked ? EXIT.done : EXIT.refused;
}

function showPeer(to: Terminal, peer: Peer): void {
  printFields(to, {
    peer: styled("cyan", peer.name),
    id: peer.peer_id,
    circle: peer.circle,
    is: [peer.role, peer.backend, peer.model].filter(Boolean).join(", "),
    status: [peer.status, peer.turn_state].filter(Boolean).join(", "),
    via: `${peer.transport} (${peer.inbound_status})`,
    path: peer.path,
    pane: peer.pane_id,
    parent: peer.parent_peer_id,
    from: [peer.source, peer.initiator].filter(Boolean).join(", "),
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
    "Nothing is known.",
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
