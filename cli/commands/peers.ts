/** Commands about one peer's life, and about panes that no peer is bound to. */

import type { Wire } from "kit/http/client.ts";
import { closePeer, getPeer, renamePeer } from "../../daemon/features/peers/contract.ts";
import { Backend } from "../../daemon/features/agents/contract.ts";
import {
  diagnosePeer,
  killPeer,
  linkPane,
  listOrphans,
  rehookPeer,
} from "../../daemon/features/lifecycle/contract.ts";
import { type Command, JSON_FLAG, type Session, verb, type Words } from "../command/command.ts";
import { EXIT, Misused } from "../client/failures.ts";
import {
  complain,
  ink,
  print,
  printFields,
  printJson,
  printTable,
  type Terminal,
} from "../output/print.ts";
import { spanOf } from "../output/show.ts";

type Peer = Wire<typeof getPeer>;
type Report = Wire<typeof diagnosePeer>;

const CIRCLE_FLAG = { "--circle <name>": "look for the name in this circle" } as const;

/** The peer that is named, and where it is looked for. */
function named(words: Words) {
  return { params: { id: words.text("name") }, query: { circle: words.maybe("circle") } };
}

export const PEER_COMMANDS: readonly Command[] = [
  verb({
    words: "peer show <name>",
    summary: "Show a peer, the evidence of it, and what contradicts itself",
    flags: CIRCLE_FLAG,
    example: "mesh peer show api",
    call: async ({ call }, words) => {
      const peer = await call(getPeer, named(words));
      const params = { id: peer.peer_id };
      return { peer, doctor: await call(diagnosePeer, { params, query: {} }) };
    },
    show: ({ peer, doctor }, { terminal }) => {
      showPeer(terminal, peer);
      showReport(terminal, doctor);
    },
  }),
  verb({
    words: "peer rename <name> <fresh>",
    summary: "Give a peer another name",
    flags: CIRCLE_FLAG,
    example: "mesh peer rename api-claude-code api",
    call: async ({ call }, words) => {
      const { peer_id } = await call(getPeer, named(words));
      const body = { name: words.text("fresh") };
      return await call(renamePeer, { params: { id: peer_id }, query: {}, body });
    },
    show: ({ peer_id, name }, { terminal }) =>
      print(terminal, ink("green", "renamed"), `: ${name}  `, ink("dim", peer_id)),
  }),
  verb({
    words: "peer close <name>",
    summary: "Close a peer and remove it for good; its process is left alone",
    flags: CIRCLE_FLAG,
    example: "mesh peer close api",
    call: ({ call }, words) => call(closePeer, named(words)),
    show: (_, { terminal }) => print(terminal, ink("green", "closed")),
  }),
  verb({
    words: "peer kill <name>",
    summary: "End a peer's own process, and retire the peer",
    flags: CIRCLE_FLAG,
    example: "mesh peer kill api",
    call: ({ call }, words) => call(killPeer, { ...named(words), body: {} }),
    show: ({ peer_id, agent_pid, signal }, { terminal }) =>
      print(
        terminal,
        ink("green", "killed"),
        `: process ${agent_pid}, by ${signal}  `,
        ink("dim", peer_id),
      ),
  }),
  verb({
    words: "peer rehook <name>",
    summary: "Say whether messages reach a peer, and what would help",
    flags: { "--apply": "do it", ...CIRCLE_FLAG },
    example: "mesh peer rehook api --apply",
    call: ({ call }, words) => {
      return call(rehookPeer, { ...named(words), body: { apply: words.flag("apply") } });
    },
    show: ({ healthy, acted, would_do, reason, transport }, { terminal }) => {
      const state = healthy
        ? ink("green", `reachable by ${transport}`)
        : ink("yellow", "not reached");
      print(terminal, state, reason === null ? "" : ` (${reason})`);
      if (would_do !== null) print(terminal, acted ? "did: " : "would: ", would_do);
      if (would_do !== null && !acted) complain(terminal, ink("dim", "Do it with --apply."));
    },
  }),
  verb({
    words: "orphans",
    summary: "List tmux panes of this machine that no peer is bound to",
    example: "mesh orphans",
    call: ({ call }) => call(listOrphans, {}),
    show: ({ panes }, { terminal }) =>
      printTable(
        terminal,
        [
          { title: "PANE", of: ({ pane_id }) => ink("cyan", pane_id), kept: true },
          { title: "SESSION", of: ({ session }) => session },
          { title: "RUNS", of: ({ command }) => command },
          { title: "PERHAPS", of: ({ backend_hint }) => backend_hint ?? "" },
          { title: "IN", of: ({ cwd }) => cwd },
          { title: "SERVER", of: ({ tmux_socket }) => ink("dim", tmux_socket) },
        ],
        panes,
        "Every pane is bound to a peer, or there is no tmux server here.",
      ),
  }),
  {
    words: "link <pane>",
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

async function link({ call, terminal }: Session, words: Words): Promise<number> {
  const backend = Backend.safeParse(words.maybe("backend"));
  if (!backend.success) throw new Misused(`--backend: one of ${Backend.options.join(", ")}`);
  const params = { pane_id: words.text("pane") };
  const linked = await call(linkPane, {
    params,
    query: {},
    body: {
      backend: backend.data,
      name: words.maybe("name"),
      circle: words.maybe("circle"),
      tmux_socket: words.maybe("socket"),
    },
  });
  if (words.flag("json")) printJson(terminal, linked);
  else if (linked.linked) {
    print(
      terminal,
      ink("green", "linked"),
      `: ${linked.display_name}  `,
      ink("dim", linked.peer_id),
    );
  } else {
    complain(terminal, ink("red", "mesh: "), `Nothing reaches that pane: ${linked.reason}`);
    complain(terminal, ink("dim", "hint: "), linked.hint);
  }
  return linked.linked ? EXIT.done : EXIT.refused;
}

function showPeer(to: Terminal, peer: Peer): void {
  printFields(to, {
    peer: ink("cyan", peer.name),
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
      { title: "EVIDENCE", of: ({ name }) => name, kept: true },
      { title: "SAYS", of: ({ ok }) => said(ok) },
      { title: "SOURCE", of: ({ source }) => source ?? "" },
      { title: "AGE", of: ({ age_seconds: age }) => age === null ? "" : spanOf(age * 1000) },
      { title: "DETAIL", of: ({ detail }) => detail },
    ],
    checks,
    "Nothing is known.",
  );
  if (contradictions.length > 0) print(to);
  for (const { code, severity, detail } of contradictions) {
    print(to, ink(severity === "error" ? "red" : "yellow", code), `  ${detail}`);
  }
}

function said(ok: boolean | null) {
  if (ok === null) return "";
  return ok ? ink("green", "yes") : ink("yellow", "no");
}
