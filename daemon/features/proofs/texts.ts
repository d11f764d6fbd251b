/** The daemon's own lines on a proof. No text of others is in them, except in the refusal. */

import type { MessageProof, ProofResult } from "protocol/proofs/contract.ts";
import type { ProofState } from "protocol/proofs/states.ts";

/** The line in the frame of an ask. */
export function noteOfAsk(checks: readonly string[]): string {
  return `The daemon runs ${checksOf(checks)} in your folder before the asker gets your answer. ` +
    "An answer that fails comes back to you once.";
}

/** The line in the frame of an answer. This machine knows only what another one reports. */
function noteOfAnswer(
  state: ProofState,
  results: readonly ProofResult[],
  machine: string | undefined,
): string {
  const by = machine === undefined
    ? "The daemon has checked this answer"
    : `By the word of ${machine}, this answer is checked`;
  return `${by}: ${state}. ${summaryOf(results)}`;
}

/** The parts of an answer that hold, and those that do not. */
export function summaryOf(results: readonly ProofResult[]): string {
  if (results.length === 0) return "Nothing was checked: its author makes no claim any more.";
  const sentences = (["verified", "refuted", "unknown"] as const).flatMap((outcome) => {
    const found = results.filter((result) => result.outcome === outcome);
    return found.length === 0 ? [] : [`${LABELS[outcome]}: ${listOf(found)}.`];
  });
  const changed = results.filter((result) => result.changed === true);
  if (changed.length > 0) {
    sentences.push(`Its author changed files that define ${listOf(changed)} since the ask.`);
  }
  return sentences.join(" ");
}

const LABELS = {
  verified: "Holds",
  refuted: "Does not hold",
  unknown: "Not decided",
} as const;

/** Claims are the author's text, so that the line has only their number. */
function listOf(results: readonly ProofResult[]): string {
  const checks = results.filter(({ kind }) => kind === "check").map(({ name }) => name);
  const claims = results.length - checks.length;
  const parts = [
    ...checks.length > 0 ? [checksOf(checks)] : [],
    ...claims > 0 ? [claims === 1 ? "one claim" : `${claims} claims`] : [],
  ];
  return parts.join(" and ");
}

function checksOf(names: readonly string[]): string {
  return names.length === 1 ? `the check ${names[0]}` : `the checks ${names.join(", ")}`;
}

/** The message by which a refuted answer goes back to its author. */
export function refusalText(correlation_id: string, results: readonly ProofResult[]): string {
  const failed = results.filter(({ outcome }) => outcome !== "verified");
  const parts = failed.map(({ kind, name, reason, output }) =>
    [`${kind} "${name}": ${reason}.`, ...output === "" ? [] : ["Output (its end):", output]]
      .join("\n")
  );
  return [
    `Your answer to ${correlation_id} was not passed on: the daemon has refuted it. ` +
    `${summaryOf(results)} Repair it, then answer ${correlation_id} again. The asker gets your ` +
    "next answer in any case, with what the daemon found about it.",
    ...parts,
  ].join("\n\n");
}

/** The proof in the asker's message. An answer that holds needs no output. */
export function proofOfAnswer(
  state: ProofState,
  { checks, results }: Pick<MessageProof, "checks" | "results">,
  machine?: string,
): MessageProof {
  const shown = results.map((result) =>
    result.outcome === "verified" ? { ...result, output: "" } : result
  );
  return { state, note: noteOfAnswer(state, results, machine), checks, results: shown };
}
