/** The decisions of a person about a review, and the sending of written comments. */

import { useState } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import { call } from "../../state/calls.ts";
import type { Review } from "../../state/records.ts";
import { refreshTopics } from "../../state/resource.ts";
import { notify } from "../../state/store.ts";
import type { SubmitHeaders } from "../../components/act/submit.ts";
import { useRefusal } from "../peer/interrupt.tsx";
import { Acting } from "./acting.tsx";
import { draftsOf, keepDrafts } from "./drafts.ts";
import type { Entry } from "./entries.ts";
import { SendBackForm } from "./forms.tsx";

interface DecisionsProps {
  readonly entry: Entry;
  readonly review: Review;
  /** Goes to the next review that is ready. */
  readonly next: () => void;
  /** The element with the lines of the diff. */
  readonly area: { readonly current: HTMLElement | null };
}

export function Decisions({ entry, review, next, area }: DecisionsProps) {
  const refusal = useRefusal();
  const [isSendingBack, setSendingBack] = useState(false);
  const { machine } = entry;
  const params = { id: review.review_id };
  const sendBack = async (text: string, headers: SubmitHeaders) => {
    await call(at.sendBackReview, { params, body: { text, machine }, headers });
    notify("Sent back");
    setSendingBack(false);
    next();
    refreshTopics(["reviews"]);
  };
  return (
    <div class="stack">
      <div class="cluster review-acts">
        <Acting
          refusal={refusal}
          letter="a"
          class="primary"
          run={() => accept({ entry, review }, next)}
        >
          Accept
        </Acting>
        <Acting refusal={refusal} letter="s" run={() => Promise.resolve(setSendingBack(true))}>
          Send back
        </Acting>
        <Acting refusal={refusal} letter="c" run={() => Promise.resolve(focusLine(area.current))}>
          Comment
        </Acting>
        <Acting refusal={undefined} letter="n" run={() => Promise.resolve(next())}>Next</Acting>
        <SendComments entry={entry} refusal={refusal} />
        <Place entry={entry} review={review} refusal={refusal} />
      </div>
      {refusal !== undefined && <p class="reason">{refusal}</p>}
      {isSendingBack && <SendBackForm close={() => setSendingBack(false)} send={sendBack} />}
    </div>
  );
}

type Decided = Pick<DecisionsProps, "entry" | "review">;

async function accept({ entry, review }: Decided, next: () => void): Promise<void> {
  const { review_id: id, digest } = review;
  const { machine } = entry;
  const reviews = [{ id, ...(digest !== null && { digest }) }];
  const { results: [result] } = await call(at.acceptReviews, { body: { reviews, machine } });
  if (!result?.accepted) throw new Error(result?.detail ?? "It was not accepted");
  notify("Accepted; nothing was merged or pushed", () => place({ entry, review }, "in"));
  next();
  refreshTopics(["reviews"]);
}

async function place({ entry, review }: Decided, placed: "in" | "out"): Promise<void> {
  const { machine } = entry;
  await call(at.placeReview, { params: { id: review.review_id }, body: { placed, machine } });
  refreshTopics(["reviews"]);
}

function focusLine(area: HTMLElement | null): void {
  const first = area?.querySelector<HTMLElement>('[data-line="+"], [data-line="-"]');
  if (first) first.focus();
  else notify("No line is shown: open a file first");
}

interface ActingProps {
  readonly entry: Entry;
  readonly refusal: string | undefined;
}

function SendComments({ entry: { key, machine, review }, refusal }: ActingProps) {
  const drafts = draftsOf(key).value;
  if (drafts.length === 0) return null;
  const params = { id: review.review_id };
  const send = async (headers: SubmitHeaders) => {
    await call(at.commentReview, { params, body: { comments: [...drafts], machine }, headers });
    keepDrafts(key, []);
    refreshTopics(["reviews"]);
  };
  return (
    <Acting refusal={refusal} letter="e" run={send} class="primary">
      {`Send ${drafts.length} ${drafts.length === 1 ? "comment" : "comments"}`}
    </Acting>
  );
}

function Place({ entry, review, refusal }: ActingProps & { review: Review }) {
  const { state } = review;
  const act = (placed: "in" | "out", label: string) => (
    <Acting
      refusal={refusal}
      run={() => place({ entry, review }, placed)}
      class="quiet"
    >
      {label}
    </Acting>
  );
  return state === "ready" ? act("out", "Take out") : act("in", "Put in");
}
