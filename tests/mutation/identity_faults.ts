/** Faults in identities: the peers of panes, sessions and names, and what belongs to them. */

import type { Target } from "./target.ts";

const IDENTITY = [
  "tests/daemon/features/peers/identity/identity_test.ts",
  "tests/daemon/features/peers/identity",
];

export const IDENTITY_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/peers/identity/identity.ts",
    tests: IDENTITY,
    faults: [
      [
        "an agent that another one starts takes its pane",
        "return oldest ?? newcomer ?? claims",
        "return newcomer ?? oldest ?? claims",
      ],
      [
        "a hook of another process reports for the peer of the session that it names",
        "if (agent) return holders.find(({ process }) => isSameProcess(process, agent));",
        "",
      ],
      [
        "who registers with the session of a live peer is that peer",
        'return peer.state === "none" && (!peer.is_live || (by_hook && !process));',
        'return peer.state === "none";',
      ],
      [
        "a command in a pane speaks for the agent that had the pane",
        'return occupant?.is_live && occupant.state === "none" ? occupant : undefined;',
        "return occupant;",
      ],
    ],
  },
  {
    file: "daemon/features/peers/peers.ts",
    tests: IDENTITY,
    faults: [[
      "a pane stays with an agent that has ended",
      "if (cause.reason !== DAEMON_RESTART) this.#panes.passOn(tx, known);",
      "",
    ]],
  },
  {
    file: "daemon/features/hooks/hook_events.ts",
    tests: [
      "tests/daemon/features/hooks/answers_before_commit_test.ts",
      "tests/daemon/features/peers/identity/session_claims_test.ts",
    ],
    faults: [
      [
        "within a turn, a record whose process has ended outweighs a hook",
        "? !this.#isContinuedTurn(named, report, located)",
        "? true",
      ],
      [
        "an answer with a message leaves before the commit",
        "isEmpty: !handsOver && !this.#isGated(report)",
        "isEmpty: !this.#isGated(report)",
      ],
    ],
  },
  {
    file: "daemon/features/transcripts/transcripts.ts",
    tests: ["tests/daemon/features/peers/identity/session_claims_test.ts"],
    faults: [[
      "a peer has a copy of whatever session it names",
      "return isClaimed(peer) ? unprovedSession(peer) : undefined;",
      "return undefined;",
    ]],
  },
  {
    file: "daemon/api/mcp/identify.ts",
    tests: ["tests/daemon/features/agents/codex/hooks_test.ts"],
    faults: [[
      "a call that names the session of no peer is that of nobody, whatever runs it",
      'if (call?.peer) return toCaller(call.peer, "session");',
      'if (call) return call.peer ? toCaller(call.peer, "session") : UNKNOWN_CALLER;',
    ]],
  },
];
