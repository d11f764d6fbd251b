/** Faults in what began a chain, in the rules on it, and in the evidence of a line. */

import type { Target } from "./target.ts";

const ORIGINS = ["tests/daemon/features/origins"];

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
        "if (is_new) this.messageRead(peer_id, delivery_id);",
        "this.messageRead(peer_id, delivery_id);\n    if (is_new) return;",
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
    ],
  },
];
