/** The check of an answer: its state, and each finding with the output behind it, folded. */

import { proofSentence } from "protocol/derived/proofs.ts";
import type { Ask } from "../../state/records.ts";
import { State } from "../basics.tsx";
import { Markdown } from "../markdown.tsx";
import { visible } from "../text/visible.tsx";

type Proof = NonNullable<Ask["proof"]>;
type Result = Proof["results"][number];

export function ProofView({ proof }: { proof: Proof }) {
  const { state, results, reason, undelivered } = proof;
  const text = proof.ended_at === null ? proofSentence(proof) : reason;
  return (
    <div class="stack tight" role="group" aria-label="Check of the answer">
      <p class="cluster">
        <State of={state} />
        {text && <span class="hint">{visible(text)}</span>}
      </p>
      {results.length > 0 && (
        <ul class="checks stack">
          {results.map((result) => <Finding key={result.kind + result.name} result={result} />)}
        </ul>
      )}
      {undelivered !== null && (
        <div class="reply rail warn stack tight">
          <p class="hint">This answer was held as the ask ended:</p>
          <Markdown text={undelivered} />
        </div>
      )}
    </div>
  );
}

const CLASSES = { verified: "ok", refuted: "fail", unknown: "" } as const;

function Finding({ result }: { result: Result }) {
  const { name, outcome, reason, output, changed_files } = result;
  return (
    <li class={CLASSES[outcome]}>
      <strong>
        <bdi>{visible(name)}</bdi>
      </strong>
      <span>{visible(`${outcome}: ${reason}`)}</span>
      {changed_files.length > 0 && (
        <p class="details reason">
          Changed since the ask: <bdi>{visible(changed_files.join(", "))}</bdi>
        </p>
      )}
      {output && (
        <details class="details">
          <summary>Output</summary>
          <pre class="inset">{visible(output)}</pre>
        </details>
      )}
    </li>
  );
}
