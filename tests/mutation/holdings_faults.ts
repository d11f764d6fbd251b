/** Faults in leases, in the uses of files, and in earlier answers. */

import type { Target } from "./target.ts";

export const HOLDINGS_TARGETS: readonly Target[] = [
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
