/** Faults in senders, names, ids of peers and searches. */

import type { Target } from "./target.ts";

const CALLERS = "tests/daemon/api/callers";
const PEERS = "tests/daemon/features/peers";
const CHILDREN = `${PEERS}/identity/child_agents_test.ts`;

export const SPEAKER_TARGETS: readonly Target[] = [
  {
    file: "daemon/api/callers/acting_for.ts",
    tests: [`${CALLERS}/acting_for_test.ts`, "tests/daemon/features/budgets/escapes_test.ts"],
    faults: [
      [
        "an agent leaves its budget by the name of no peer",
        "if (peer === undefined && startsWork(actor)) this",
        "if (peer === undefined && actor.drains) this",
      ],
      [
        "a program that an agent registers is free of its budget",
        "if (agent) db.transact",
        "if (agent?.peer_id === peer_id) db.transact",
      ],
      [
        "a peer speaks as another one whose parent it is said to be",
        "if (isIdentified(peer) || !isSubagent(peer)) return",
        "if (peer.agent_pid !== null || peer.parent_runtime_id === null) return",
      ],
      [
        "a peer speaks as another one",
        'if (found === "another" && peer) throw notYours(peer);',
        'if (found === "another" && peer) return true;',
      ],
      [
        "a look-alike of a peer's name is taken for any other name",
        "needs_proof: identityLookup.looksLikeIdentified(value)",
        "needs_proof: false",
      ],
      [
        "a program without a proof speaks as a peer with a process",
        "return agent_pid !== null || runtime_session_id !== null;",
        "return false;",
      ],
      [
        "a program without a proof drains the queue of a peer with a process",
        "if (actor.drains && !isProved && peer) throw notYours(peer);",
        "",
      ],
    ],
  },
  {
    file: "daemon/api/mcp/routes.ts",
    tests: ["tests/daemon/api/mcp/starting_agents_test.ts", CHILDREN],
    faults: [
      [
        "an agent that another one starts calls tools as that one, by its pid",
        "proofs.isPeerProcess(pid, caller)",
        "pid",
      ],
      [
        "a client in a pid namespace of its own never shows that it has our tools",
        "const client = pid ?? senderOf(request, caller, proofs);",
        "const client = pid;",
      ],
    ],
  },
  {
    file: "daemon/api/callers/callers.ts",
    tests: [
      CHILDREN,
      `${CALLERS}/acting_for_test.ts`,
      "tests/daemon/features/asks/questions/approvals_test.ts",
    ],
    faults: [
      [
        "a question of a hook that was ended stays open",
        "if (!done.aborted && this.hasHungUp(caller)) hungUp.abort();",
        "",
      ],
      [
        "a hook of an agent reports for the agent that started it, by its pid",
        "const isAgent = !isAdopter && this.isPeerProcess(agent_pid, caller);",
        "const isAgent = !isAdopter && this.isProcess(agent_pid, caller);",
      ],
      [
        "a child speaks as the peer that started it",
        'return found && (found.is_own ? "itself" : "another");',
        'return found && (own ? "itself" : "another");',
      ],
    ],
  },
  {
    file: "daemon/features/peers/identity/identity_lookup.ts",
    tests: [`${CALLERS}/acting_for_test.ts`],
    faults: [
      [
        "a retired peer's process speaks for the peer that started it",
        "if (registered.length === 0) return undefined;",
        "if (registered.length === 0) continue;",
      ],
      [
        "a program that people use directly counts as an agent, once a peer has named it",
        "if (peers.length === 0 || !agentProcesses.mayBeAgent(pid)) continue;",
        "if (peers.length === 0) continue;",
      ],
      [
        "the peer of a process is known for ever",
        'new TableAnswers(db.watch("peers", rows.identityValues))',
        "new TableAnswers(() => 0)",
      ],
    ],
  },
  {
    file: "daemon/features/notifications/notifications.ts",
    tests: [`${CALLERS}/acting_for_test.ts`],
    faults: [
      [
        "a job of an unverified creator is the daemon's own word",
        "voice: daemon && !requestContext.unverified",
        "voice: daemon",
      ],
    ],
  },
  {
    file: "daemon/features/peers/identity/identification.ts",
    tests: [CHILDREN],
    faults: [
      [
        "who registers with the pid of the agent that started it is that agent",
        "started && isPeerProcess?.(agent_pid)",
        "started && isProcess?.(agent_pid)",
      ],
    ],
  },
  {
    file: "daemon/features/peers/directory.ts",
    tests: [`${CALLERS}/acting_for_test.ts`, `${PEERS}/identity/reserved_names_test.ts`],
    faults: [
      [
        "a session outweighs the id by which a subagent names its parent",
        "rows.get(db, parent_runtime_id) ?? rows",
        "rows",
      ],
      [
        "anybody sends under a reserved name",
        "if (this.#addresses.isReserved(argument)) {",
        'if (argument === "") {',
      ],
    ],
  },
  {
    file: "protocol/peers/lookalikes.ts",
    tests: [`${PEERS}/identity/reserved_names_test.ts`],
    faults: [
      ["a number makes another name", 'name.replace(NUMBER, "")', "name"],
    ],
  },
  {
    file: "protocol/messages/frame_markers.ts",
    tests: [`${PEERS}/identity/reserved_names_test.ts`],
    faults: [
      [
        "a mark with blanks and overlays is left",
        '"[\\\\s\\\\u2800\\\\u{1d159}\\\\p{M}]*"',
        '"\\\\s*"',
      ],
    ],
  },
  {
    file: "daemon/features/peers/remote/remote_peers.ts",
    tests: ["tests/daemon/machines/directory/owned_ids_test.ts"],
    faults: [
      [
        "whoever announces an id first owns it",
        "return isOwnId(claimed.daemon_id, claimed) && !isOwnId(known.daemon_id, known);",
        "return false;",
      ],
    ],
  },
  {
    file: "daemon/app/membership/renewal.ts",
    tests: ["tests/daemon/machines/directory/owned_ids_test.ts"],
    faults: [
      [
        "the peers of a renewed copy keep their ids",
        "db.transactNow((tx) => renewPeerIds(tx, ownPeerIds(daemon_id, ids)));",
        "",
      ],
    ],
  },
  {
    file: "kit/core/words.ts",
    tests: ["tests/daemon/features/messages/log/languages_test.ts"],
    faults: [
      [
        "a run of an unspaced script is one word",
        "if (run !== undefined) tokens.push(...pairsOf(Array.from(run)));",
        'if (run !== undefined) tokens.push({ text: run, kind: "word" });',
      ],
    ],
  },
];

const ORIGINS = ["tests/daemon/features/origins"];

/** Faults in what began a chain, in the rules on it, and in the evidence of a line. */
export const ORIGIN_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/origins/origins.ts",
    tests: ORIGINS,
    faults: [
      [
        "a message of another agent ends work for a guest's open ask",
        "if (owed) return owed;",
        "",
      ],
      [
        "a prompt frees an agent that a guest's chain started",
        "if (isOutside(started)) return started;",
        "if (isOutside(started) && !this.#read.get(peer_id)?.by_itself) return started;",
      ],
      [
        "a prompt with the id of an earlier message takes an agent back to it",
        "if (is_new) this.messageRead(peer_id, delivery_id, chain);",
        "this.messageRead(peer_id, delivery_id, chain);\n    if (is_new) return;",
      ],
      [
        "the chain of a peer is never read again",
        '() => db.revisionOf("chain_members")',
        "() => 0",
      ],
      [
        "a restart forgets which peers owe an answer to a guest",
        "new Set(deps.ports.askedFromOutside())",
        "new Set()",
      ],
      [
        "a guest's ask since the start is not owed",
        "this.#asked_from_outside.add(peer_id);",
        "",
      ],
      [
        "an agent that is started again leaves the chain outside",
        "if (isOutside(chain) || !isOutside(this.memberChain(subject))) {",
        "if (chain) {",
      ],
      [
        "a message that was not handed over ends the work before it",
        "if (before) this.#read.set(peer_id, before);",
        "if (before) return;",
      ],
      [
        "notices and unknown messages push out the one that decides",
        "deciding && deciding !== known ? [known, deciding] : [known]",
        "[known]",
      ],
      [
        "what a peer reads after a restart hides what it read before",
        'if (read.is_whole || (found && found.origin !== "unknown")) return found;',
        "if (read.is_whole || found) return found;",
      ],
      [
        "a local program is an app if it names itself so",
        'if (via === "relay") {',
        'if (via === "relay" || from.name.startsWith("mcp-")) {',
      ],
      [
        "a machine's word about its guest is lost",
        "reported: reported?.origin ?? null,",
        "reported: null,",
      ],
    ],
  },
  {
    file: "daemon/features/spawn/spawns.ts",
    tests: ORIGINS,
    faults: [[
      "a copy of an agent does not belong to the agent's chain",
      "if (launched.copies !== undefined) origins.includeCopy(tx, spawn_id, launched.copies);",
      "",
    ]],
  },
  {
    file: "daemon/features/origins/policies.ts",
    tests: ORIGINS,
    faults: [
      [
        "a rule for guests does not count for another machine's guests",
        "? [origin, reported]",
        "? [origin]",
      ],
      [
        "a rule with a recipient denies every recipient",
        "(act.recipient === null || recipients.includes(act.recipient))",
        "(act.recipient === null || recipients.length > 0)",
      ],
    ],
  },
  {
    file: "daemon/features/messages/ledger/chains.ts",
    tests: ORIGINS,
    faults: [
      [
        "after a crash, an agent is free of what it read",
        "seen_at is not null or",
        "0 and",
      ],
    ],
  },
  {
    file: "daemon/features/blame/blame.ts",
    tests: ["tests/daemon/features/blame"],
    faults: [
      [
        "a line of an agent that reported nothing is somebody's",
        "if (writers.length === 0) {",
        "if (writers.length < 0) {",
      ],
      [
        "an agent reads lines of another repository",
        'if (own === "" || own !== repository || !allowed.ok) {',
        "if (!allowed.ok && own === repository) {",
      ],
      [
        "an agent learns of messages of another circle",
        "return circle === undefined ||",
        "return circle !== null ||",
      ],
      [
        "a refused permission is shown as allowed",
        'return option_id === ALLOW ? "allowed" : "denied";',
        'return option_id !== ALLOW ? "allowed" : "denied";',
      ],
    ],
  },
  {
    file: "daemon/features/blame/commits.ts",
    tests: ["tests/daemon/features/blame"],
    faults: [
      [
        "a session file proves that its agent read a message of another agent",
        "const isOwn = message?.to_peer_id === peer_id;",
        "const isOwn = message !== undefined;",
      ],
    ],
  },
  {
    file: "daemon/features/files/file_uses.ts",
    tests: ["tests/daemon/features/blame"],
    faults: [
      [
        "commits in session files are not read",
        "const prefixes = ended.mayCommit ? commitsIn(text) : [];",
        "const prefixes = ended.mayCommit ? [] : commitsIn(text);",
      ],
    ],
  },
];
