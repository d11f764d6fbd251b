/** Faults in the checks of answers. */

import type { Target } from "./target.ts";

const PROOFS = ["tests/daemon/features/proofs/proofs_test.ts"];
const CLAIMS = ["tests/daemon/features/proofs/claims_test.ts"];
const HOSTILE = ["tests/daemon/features/proofs/hostile_test.ts"];

export const PROOF_TARGETS: readonly Target[] = [
  {
    file: "daemon/features/proofs/proofs.ts",
    tests: [...PROOFS, ...HOSTILE],
    faults: [
      [
        "a second answer replaces the one that is being checked",
        'if (known?.state === "proving") throw new Problem("answer_in_proof", { correlation_id });',
        "",
      ],
      [
        "a held answer is lost if its author ends during the checks",
        'if (proof?.state === "proving") return true;',
        "",
      ],
      [
        "a refuted answer goes back again and again",
        "const isFirst = proof.answers === 1;",
        "const isFirst = true;",
      ],
      [
        "an answer without any finding counts as verified",
        'outcomes.size > 0 && !outcomes.has("unknown")',
        '!outcomes.has("unknown")',
      ],
      [
        "the checks of a cancelled ask go on",
        "this.#running.get(correlation_id)?.abort()",
        "this.#running.get(correlation_id)",
      ],
      [
        "checks that a restart cut off do not run again",
        "for (const id of this.#records.proving(RUNNING_MAX * 2)) this.#start(id);",
        "",
      ],
      [
        "a request through the relay starts checks",
        'if (via === "relay" && !this.#deps.relay_admin)',
        "if (false)",
      ],
    ],
  },
  {
    file: "daemon/features/proofs/verification.ts",
    tests: [...PROOFS, ...HOSTILE],
    faults: [
      [
        "a check that could not run refutes the answer",
        "if (exit === 126 || exit === 127)",
        "if (exit === 126)",
      ],
      [
        "secrets in an output reach the asker",
        "maskSecrets(cleanText(output), this.#deps.secrets).text",
        "cleanText(output)",
      ],
    ],
  },
  {
    file: "daemon/features/proofs/claims.ts",
    tests: CLAIMS,
    faults: [
      [
        "a branch of hex digits passes as a commit",
        "if (!found?.startsWith(commit))",
        "if (!found)",
      ],
      [
        "a redirect leads away from this machine",
        "if (!isLoopbackAddress(url)) return",
        "if (false) return",
      ],
      [
        "a link leads a claim out of the folder",
        "realPath(full) === full ? statOf(full) : undefined",
        "statOf(realPath(full) ?? full)",
      ],
    ],
  },
  {
    file: "daemon/features/messages/framing.ts",
    tests: HOSTILE,
    faults: [
      [
        "an output can close the tag of its message",
        "outcome })}>${escapeMarkup(text)}</finding>`;",
        "outcome })}>${text}</finding>`;",
      ],
    ],
  },
];
