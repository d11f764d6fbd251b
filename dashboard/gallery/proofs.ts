/** Samples of answers that are checked. */

import type { Ask } from "../state/records.ts";

type Proof = NonNullable<Ask["proof"]>;
type Result = Proof["results"][number];

const TESTS: Result = {
  kind: "check",
  name: "tests",
  outcome: "verified",
  reason: "It exited with 0",
  output: "",
  changed: false,
  changed_files: [],
};

const HELD: Proof = {
  state: "proving",
  checks: ["tests"],
  claims: [],
  machine: null,
  folder: "/home/sam/work/api",
  answers: 1,
  reason: null,
  undelivered: null,
  results: [],
  created_at: "2026-11-28T12:00:00.000Z",
  answered_at: "2026-11-28T12:05:00.000Z",
  ended_at: null,
};

const ENDED = { ...HELD, ended_at: "2026-11-28T12:06:00.000Z" };

export const PROOFS: readonly Proof[] = [
  HELD,
  {
    ...ENDED,
    state: "verified",
    reason: "Holds: the check tests and one claim. Its author changed files that define the " +
      "check tests since the ask.",
    results: [
      {
        ...TESTS,
        kind: "claim",
        name: "commit:3f9c04d1a2b7",
        reason: "The commit is part of HEAD",
      },
      { ...TESTS, changed: true, changed_files: ["tests/login_test.ts"] },
    ],
  },
  {
    ...ENDED,
    state: "refuted",
    answers: 2,
    reason: "Does not hold: the check tests. Not decided: the check lint.",
    results: [
      {
        ...TESTS,
        outcome: "refuted",
        reason: "It exited with 1",
        output: "login keeps the session ... FAILED\n\n1 failed, 41 passed",
      },
      {
        ...TESTS,
        name: "lint",
        outcome: "unknown",
        reason: 'It was not run, because "tests" did not hold',
        changed: null,
      },
    ],
  },
  { ...ENDED, state: "withdrawn", undelivered: "The login works again." },
];
