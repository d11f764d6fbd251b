/** Samples of the order of landing. */

import type { JointChecks } from "../state/records.ts";

const HOSTILE = "<img src=x onerror=alert(1)>\u202e.ts";

const API: JointChecks["repositories"][number]["work_trees"][number] = {
  peer_id: "peer-1",
  name: "api",
  root: "/home/sam/shop-api",
  branch: "rename-sum",
  files: 3,
  result: "passed",
  detail: null,
  reason: "its check passes, 3 files",
};

const PAIR: JointChecks["repositories"][number]["pairs"][number] = {
  first_peer_id: "peer-1",
  second_peer_id: "peer-2",
  result: "failed",
  files: ["src/sum.ts", HOSTILE],
  detail: "1 test failed",
  correlation_id: "ask-3f9c04d1a2b7",
};

export const LANDINGS: readonly JointChecks[] = [
  {
    check: "tests",
    running: false,
    repositories: [{
      repository: "/home/sam/shop/.git",
      checked_at: new Date(Date.now() - 120_000).toISOString(),
      work_trees: [
        API,
        {
          ...API,
          peer_id: "peer-2",
          name: "web",
          branch: "new-cart",
          reason: "its check passes, 2 files; imports changes of api; does not fit with api",
        },
        { ...API, peer_id: "peer-3", name: "docs", branch: null, result: "failed" },
        {
          ...API,
          peer_id: "peer-4",
          name: "cart",
          result: "unknown",
          detail: "bwrap: no namespace\nIts sandbox (bwrap) could not run it: see its output",
        },
      ],
      pairs: [
        PAIR,
        { ...PAIR, second_peer_id: "peer-3", result: "conflict", correlation_id: null },
        {
          ...PAIR,
          second_peer_id: "peer-4",
          result: "unknown",
          detail: "It used more than 4096 MiB of memory",
          correlation_id: null,
        },
      ],
    }],
  },
  { check: "tests", running: false, repositories: [] },
  { check: null, running: false, repositories: [] },
];
