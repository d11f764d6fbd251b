/** Decisions about several marked reviews, each about the diff as it was when it was marked. */

import { useState } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import { counted } from "protocol/reviews/order.ts";
import { isDefinite, type SubmitHeaders } from "../../components/act/submit.ts";
import { visible } from "../../components/text/visible.tsx";
import { call, errorText } from "../../state/calls.ts";
import { refreshTopics } from "../../state/resource.ts";
import { notify } from "../../state/store.ts";
import { useRefusal } from "../peer/interrupt.tsx";
import { Acting } from "./acting.tsx";
import { sendBackOne } from "./decisions.tsx";
import type { Entry } from "./entries.ts";
import { SendBackForm } from "./forms.tsx";

/** The marked reviews, by the keys of their rows. */
export type Marks = ReadonlyMap<string, Entry>;

interface BatchProps {
  readonly marks: Marks;
  /** The reviews as they are listed now. */
  readonly entries: readonly Entry[];
  readonly clear: () => void;
}

export function Batch({ marks, entries, clear }: BatchProps) {
  const refusal = useRefusal();
  const [refused, setRefused] = useState<readonly string[]>([]);
  const [isSendingBack, setSendingBack] = useState(false);
  const listed = entries.filter(({ key }) => marks.has(key));
  const marked = listed.flatMap(({ key }) => marks.get(key) ?? []);
  const due = listed.filter(({ review }) => review.is_due).length;
  const wait = due > 0 ? `${counted(due, "marked change")} must be read again first` : undefined;
  const end = (done: string, reasons: readonly string[]) => {
    const count = marked.length - reasons.length;
    setRefused(reasons);
    clear();
    refreshTopics(["reviews"]);
    if (count > 0) notify(`${done} ${count}; nothing was merged or pushed`);
  };
  const sendBack = async (text: string, headers: SubmitHeaders) => {
    end("Sent back", await sendBackAll(marked, text, headers));
    setSendingBack(false);
  };
  return (
    <>
      {marked.length > 0 && (
        <div class="cluster">
          <Acting
            refusal={refusal ?? wait}
            letter="A"
            run={async () => end("Accepted", await acceptAll(marked))}
          >
            Accept {marked.length} marked
          </Acting>
          <Acting
            refusal={refusal}
            letter="S"
            run={() => Promise.resolve(setSendingBack(true))}
          >
            Send back {marked.length} marked
          </Acting>
        </div>
      )}
      {isSendingBack && marked.length > 0 && (
        <SendBackForm
          label="What is missing? Each author gets this as an ask"
          close={() => setSendingBack(false)}
          send={sendBack}
        />
      )}
      {refused.map((reason) => (
        <p key={reason} class="reason" role="alert">Nothing decided. {visible(reason)}</p>
      ))}
    </>
  );
}

/** The reasons why some were not accepted, each with the author. */
async function acceptAll(marked: readonly Entry[]): Promise<string[]> {
  const reasons: string[] = [];
  for (const [machine, of] of Map.groupBy(marked, ({ machine }) => machine)) {
    const reviews = of.map(({ review: { review_id: id, digest } }) => ({
      id,
      ...(digest !== null && { digest }),
    }));
    try {
      const { results } = await call(at.acceptReviews, { body: { reviews, machine } });
      reasons.push(...of.flatMap((entry, index) => {
        const { accepted = false, detail = null } = results[index] ?? {};
        return accepted ? [] : `${nameOf(entry)}: ${detail ?? "it was not accepted"}`;
      }));
    } catch (error) {
      reasons.push(...of.map((entry) => `${nameOf(entry)}: ${errorText(error)}`));
    }
  }
  return reasons;
}

/** Returns the reasons of the refused ones. Throws if an outcome is unknown. */
async function sendBackAll(
  marked: readonly Entry[],
  text: string,
  headers: SubmitHeaders,
): Promise<string[]> {
  const reasons: string[] = [];
  for (const entry of marked) {
    const { machine, review } = entry;
    // A second try after a lost answer sends nothing twice.
    const key = `${headers["idempotency-key"]}-${review.review_id}`;
    try {
      await sendBackOne(review, { machine, text, headers: { "idempotency-key": key } });
    } catch (error) {
      if (!isDefinite(error)) throw error;
      reasons.push(`${nameOf(entry)}: ${errorText(error)}`);
    }
  }
  return reasons;
}

function nameOf({ machine, review: { author } }: Entry): string {
  return machine === undefined ? author.name : `${author.name}@${machine}`;
}
