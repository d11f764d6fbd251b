/** The check of an answer as sentences. */

import type { WireResponse } from "kit/http/client.ts";
import type { getAsk } from "protocol/asks/contract.ts";
import type { getPeer } from "protocol/peers/contract.ts";

type ShownProof = NonNullable<WireResponse<typeof getAsk>["proof"]>;
type Result = ShownProof["results"][number];

/** The state of the check, and what was found. */
export function proofSentence({ state, checks, machine, reason }: ShownProof): string {
  switch (state) {
    case "awaiting":
      return `its answer will be checked${machine === null ? "" : ` by ${machine}`}: ` +
        checks.join(", ");
    case "proving":
      return "the answer is held while it is checked";
    case "returned":
      return `the answer was refuted, and is back at its author. ${reason ?? ""}`.trim();
    default:
      return reason === null ? state : `${state}. ${reason}`;
  }
}

/** A finding on one line, without its output. */
export function resultSentence({ kind, name, outcome, reason, ...result }: Result): string {
  const changed = result.changed
    ? `; its files were changed since the ask: ${result.changed_files.join(", ")}`
    : "";
  return `${kind} ${name}: ${outcome}. ${reason}${changed}`;
}

/** True if the answer is what its author and its asker's checks say. */
export function isProved({ state }: Pick<ShownProof, "state">): boolean {
  return state === "verified";
}

/** The record of a peer's checked answers; undefined for a peer without any. */
export function recordSentence(
  { proofs }: Pick<WireResponse<typeof getPeer>, "proofs">,
): string | undefined {
  if (!proofs) return undefined;
  const { verified, refuted, unproved, sent_back } = proofs;
  const notes = [
    ...sent_back > 0 ? [`${sent_back} repaired or refuted after a first failure`] : [],
    ...unproved > 0 ? [`${unproved} could not be checked`] : [],
  ];
  return [`${verified} of ${verified + refuted} checked answers held`, ...notes].join("; ");
}
