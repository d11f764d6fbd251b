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
import type { Target } from "./entries.ts";
import { SendBackForm } from "./forms.tsx";

interface DecisionsProps {
  readonly target: Target;
  readonly review: Review;
  /** Goes to the next review that is ready. */
  readonly next: () => void;
  /** The element with the lines of the diff. */
  readonly area: { readonly current: HTMLElement | null };
}

export function Decisions({ target, review, next, area }: DecisionsProps) {
  const refusal = useRefusal();
  const [isSendingBack, setSendingBack] = useState(false);
  const { machine } = target;
  const sendBack = async (text: string, headers: SubmitHeaders) => {
    await sendBackOne(review, { machine, text, headers });
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
          run={() => accept({ target, review }, next)}
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
        <SendComments target={target} review={review} refusal={refusal} />
        <Place target={target} review={review} refusal={refusal} />
      </div>
      {refusal !== undefined && <p class="reason">{refusal}</p>}
      {isSendingBack && (
        <SendBackForm
          label="What is missing? The author gets this as an ask"
          close={() => setSendingBack(false)}
          send={sendBack}
        />
      )}
    </div>
  );
}

/** Sends the changes back that the person has seen. */
export async function sendBackOne(
  { review_id: id, digest }: Pick<Review, "review_id" | "digest">,
  { machine, text, headers }: {
    readonly machine: string | undefined;
    readonly text: string;
    readonly headers: SubmitHeaders;
  },
): Promise<void> {
  const body = { text, machine, ...(digest !== null && { digest }) };
  await call(at.sendBackReview, { params: { id }, body, headers });
}

type Decided = Pick<DecisionsProps, "target" | "review">;

async function accept({ target, review }: Decided, next: () => void): Promise<void> {
  const { review_id: id, digest } = review;
  const { machine } = target;
  const reviews = [{ id, ...(digest !== null && { digest }) }];
  const { results: [result] } = await call(at.acceptReviews, { body: { reviews, machine } });
  if (!result?.accepted) throw new Error(result?.detail ?? "It was not accepted");
  notify("Accepted; nothing was merged or pushed", () => place({ target, review }, "in"));
  next();
  refreshTopics(["reviews"]);
}

async function place({ target, review }: Decided, placed: "in" | "out"): Promise<void> {
  const { machine } = target;
  await call(at.placeReview, { params: { id: review.review_id }, body: { placed, machine } });
  refreshTopics(["reviews"]);
}

function focusLine(area: HTMLElement | null): void {
  const first = area?.querySelector<HTMLElement>('[data-line="+"], [data-line="-"]');
  if (first) first.focus();
  else notify("No line is shown: open a file first");
}

interface ActingProps extends Decided {
  readonly refusal: string | undefined;
}

function SendComments({ target: { key, machine }, review, refusal }: ActingProps) {
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

function Place({ target, review, refusal }: ActingProps) {
  const { state } = review;
  const act = (placed: "in" | "out", label: string) => (
    <Acting
      refusal={refusal}
      run={() => place({ target, review }, placed)}
      class="quiet"
    >
      {label}
    </Acting>
  );
  return state === "ready" ? act("out", "Take out") : act("in", "Put in");
}
