/** Faults in identities, and in what belongs to a peer: leases, uses of files, its answers. */

import type { Target } from "./target.ts";

const IDENTITY = [
  "tests/daemon/features/peers/identity/identity_test.ts",
  "tests/daemon/features/peers/identity",
];

export const IDENTITY_TARGETS: readonly Target[] = [
  {
    file: "cli/commands/run/agents.ts",
    tests: ["tests/cli/commands/run/run_test.ts"],
    faults: [
      [
        "without tmux any agent gets the name of the one that was started",
        "isDescendant(agent_pid, pid)",
        "agent_pid !== pid",
      ],
    ],
  },
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
        "? this.#isContinuedTurn(named, report, facts)",
        "? false",
      ],
      [
        "an answer with a message leaves before the commit",
        "isEmpty: !handsOver && !waits",
        "isEmpty: !waits",
      ],
    ],
  },
  {
    file: "daemon/features/hooks/briefings.ts",
    tests: ["tests/daemon/features/hooks/briefing_claims_test.ts"],
    faults: [
      [
        "an answer that is being checked is owed",
        "const owes = asks.owedBy(db, peer_id);",
        "const owes = asks.openTo(db, peer_id);",
      ],
      [
        "files of any time are named",
        "ports.sharedFiles(peer_id, since)",
        "ports.sharedFiles(peer_id, 0)",
      ],
      [
        "an agent that only holds something gets no briefing",
        "isHolding: leases.length + files.length > 0",
        "isHolding: false",
      ],
    ],
  },
  {
    file: "daemon/app/ports.ts",
    tests: ["tests/daemon/features/hooks/briefing_claims_test.ts"],
    faults: [[
      "a review comment is named by the head of its message",
      "return comment && `${comment.file}:${comment.line} ${comment.text}`;",
      "return comment && undefined;",
    ]],
  },
  {
    file: "daemon/features/files/store.ts",
    tests: ["tests/daemon/features/hooks/briefing_claims_test.ts"],
    faults: [[
      "a retired peer still changes files",
      "\n       and status <> 'retired'",
      "",
    ]],
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
  {
    file: "daemon/features/leases/leases.ts",
    tests: ["tests/daemon/features/leases/leases_test.ts"],
    faults: [
      [
        "the lease of a process that an agent named goes on with the agent",
        "    if (!lease.of_agent) return undefined;\n",
        "",
      ],
      [
        "the lease of a start never ends",
        "return now - began < START_MS_MAX;",
        "return now >= began;",
      ],
    ],
  },
  {
    file: "daemon/features/files/overlaps.ts",
    tests: ["tests/daemon/features/files/file_uses_test.ts"],
    faults: [
      [
        "the name of a file is part of a command",
        "const isPlain = paths.every((path) => /^[\\w./@+, -]+$/.test(path));",
        "const isPlain = paths.length > 0;",
      ],
      [
        "agents are informed of the same file each time",
        "    if (told_at !== undefined && Math.abs(now - told_at) < AGAIN_MS) return false;\n",
        "",
      ],
    ],
  },
  {
    file: "daemon/features/recall/recall.ts",
    tests: ["tests/daemon/features/recall/recall_test.ts"],
    faults: [
      [
        "what a person answered one agent is recalled for another",
        "      if (isPrivate && agent_id !== null) return undefined;\n",
        "",
      ],
      [
        "an ask with a peer of another circle is recalled",
        "      if (agents.some((peer) => peer.circle !== circle)) return undefined;\n",
        "",
      ],
    ],
  },
];
