/** One review: its facts, the person's decisions, and its diff with the comments on its lines. */

import { useRef, useState } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import { lineWords } from "protocol/reviews/lines.ts";
import type { DiffLine } from "protocol/derived/diff.ts";
import { Age, ResourceView, State } from "../../components/basics.tsx";
import { ChangesView } from "../../components/changes.tsx";
import type { LineParts } from "../../components/diff.tsx";
import { PeerLink } from "../../components/message.tsx";
import { visible } from "../../components/text/visible.tsx";
import { call } from "../../state/calls.ts";
import type { Review, ReviewComment, ReviewDetail as Detail } from "../../state/records.ts";
import { only, refreshTopics, useResource } from "../../state/resource.ts";
import { link } from "../../state/router.ts";
import { notify } from "../../state/store.ts";
import { useRefusal } from "../peer/interrupt.tsx";
import { Acting } from "./acting.tsx";
import { type CommentDraft, draftsOf, keepDrafts } from "./drafts.ts";
import type { Entry } from "./entries.ts";
import { CommentForm, SendBackForm } from "./forms.tsx";
import { moveByKey } from "./line_keys.ts";

/** The shortest time between two reads: each runs git. */
const INTERVAL_MS = 3_000;

interface DetailProps {
  readonly entry: Entry;
  /** Goes to the next review that is ready. */
  readonly next: () => void;
}

export function ReviewDetail({ entry, next }: DetailProps) {
  const { machine, review: { review_id } } = entry;
  const params = { id: review_id }, query = { machine };
  const load = (signal: AbortSignal) => call(at.readReview, { params, query, signal });
  const topics = ["reviews", "asks", "turns"] as const;
  const options = { interval_ms: INTERVAL_MS };
  const resource = only(useResource(`review ${entry.key}`, topics, load, options), [review_id]);
  return (
    <ResourceView resource={resource}>
      {(detail) => <Loaded detail={detail} entry={entry} next={next} refresh={resource.refresh} />}
    </ResourceView>
  );
}

function Loaded(
  { detail, entry, next, refresh }: DetailProps & { detail: Detail; refresh: () => void },
) {
  const { review, changes, comments } = detail;
  const { key, machine } = entry;
  const params = { id: review.review_id };
  const [chosen, setChosen] = useState<{ file: string; line: DiffLine }>();
  const area = useRef<HTMLDivElement>(null);
  const drafts = draftsOf(key);
  const add = (draft: CommentDraft) => {
    keepDrafts(key, [...drafts.value, draft]);
    setChosen(undefined);
  };
  const linesOf = (file: string): LineParts => ({
    choose: (line) => setChosen({ file, line }),
    below: (line) => {
      const at = placeOf(line);
      const own = drafts.value.filter((draft) => isAt(draft, file, at));
      const sent = comments.filter((comment) => isAt(nowAt(comment), file, at));
      const isChosen = chosen?.file === file && isAt({ file, ...placeOf(chosen.line) }, file, at);
      if (own.length + sent.length === 0 && !isChosen) return null;
      return (
        <div class="stack">
          {sent.map((comment) => <Sent key={comment.comment_id} comment={comment} of={review} />)}
          {own.map((draft, index) => (
            <p key={index} class="rail warn">
              Not sent: {visible(draft.text)}{" "}
              <button
                type="button"
                class="quiet"
                onClick={() => keepDrafts(key, drafts.value.filter((other) => other !== draft))}
              >
                Discard
              </button>
            </p>
          ))}
          {isChosen && (
            <CommentForm
              label={`Comment on line ${at.line}`}
              add={(text) => add({ file, ...at, seen: line.text, text })}
              close={() => setChosen(undefined)}
            />
          )}
        </div>
      );
    },
  });
  const shownAt = new Set(changes.files.flatMap(({ path, hunks }) => hunks ? [path] : []));
  const rest = comments.filter((comment) =>
    comment.now.line === null || !shownAt.has(comment.file)
  );
  const loadFile = async (file: string) =>
    (await call(at.readReview, { params, query: { file, machine } })).changes.files[0];
  return (
    <div ref={area} class="stack loose" onKeyDown={(event) => moveByKey(event, area.current)}>
      <Facts review={review} />
      <Decisions entry={entry} review={review} next={next} area={area} />
      {rest.length > 0 && (
        <section class="stack">
          <h2>Comments on lines that are not shown below</h2>
          {rest.map((comment) => <Sent key={comment.comment_id} comment={comment} of={review} />)}
        </section>
      )}
      <ChangesView
        changes={changes}
        id={key}
        loadFile={loadFile}
        refresh={refresh}
        linesOf={linesOf}
      />
    </div>
  );
}

interface LinePlace {
  readonly line: number;
  readonly side: "new" | "old";
}

function placeOf({ sign, old, new: fresh }: DiffLine): LinePlace {
  return sign === "-" ? { side: "old", line: old ?? 0 } : { side: "new", line: fresh ?? 0 };
}

function isAt(
  place: LinePlace & { readonly file: string },
  file: string,
  { line, side }: LinePlace,
): boolean {
  return place.file === file && place.side === side && place.line === line;
}

/** The place of a comment's line now. */
function nowAt({ file, side, now }: ReviewComment) {
  return { file, side, line: now.line ?? -1 };
}

function Sent({ comment, of: { author } }: { comment: ReviewComment; of: Review }) {
  const { file, line, line_text, text, at, now, ask_state, seen_at, reply, correlation_id } =
    comment;
  const state = ask_state === "open" ? seen_at === null ? "not seen yet" : "seen" : "answered";
  return (
    <div class="rail stack tight">
      <p class="hint">
        <bdi>{visible(file)}</bdi>:{line} · <Age at={at} suffix=" ago" /> · {lineWords(now)} ·{" "}
        <a href={link("asks", correlation_id)}>{state}</a>
      </p>
      {now.state !== "here" && (
        <p class="hint">
          <code>{visible(line_text)}</code>
        </p>
      )}
      <p class="plain">{visible(text)}</p>
      {reply !== null && (
        <p class="plain rail good">
          <bdi class="who">{visible(author.name)}</bdi>: {visible(reply)}
        </p>
      )}
    </div>
  );
}

function Facts({ review }: { review: Review }) {
  const { author, others, state, rank, task, checks, cost, joined, decision, inexact } = review;
  const tokens = (cost?.input_tokens ?? 0) + (cost?.output_tokens ?? 0);
  return (
    <header class="stack tight">
      <p class="cluster">
        <PeerLink id={author.peer_id} name={author.name} />
        <State of={state} tone={state === "ready" || state === "accepted" ? "good" : "calm"} />
        {decision && !decision.is_current && decision.kind === "accepted" && (
          <State of="changed since accepted" tone="warn" />
        )}
        <span class="hint">{rank.words}</span>
      </p>
      <dl class="facts">
        {task && (
          <>
            <dt>Task</dt>
            <dd>
              <a href={link(task.kind === "ask" ? "asks" : "jobs", task.id)}>
                {visible(task.title)}
              </a>
              {task.from !== null && (
                <span class="hint">
                  {" "}from <bdi>{visible(task.from)}</bdi>
                </span>
              )}
            </dd>
          </>
        )}
        {checks.length > 0 && (
          <>
            <dt>Checks</dt>
            <dd class="cluster">
              {checks.map(({ name, passed }) => (
                <State
                  key={name}
                  of={`${name} ${passed ? "passed" : "failed"}`}
                  tone={passed ? "good" : "bad"}
                />
              ))}
            </dd>
          </>
        )}
        {cost && (
          <>
            <dt>Cost</dt>
            <dd>
              {tokens.toLocaleString()} tokens
              {cost.cost !== null && `, ${cost.cost.toFixed(2)} ${cost.currency ?? ""}`}
            </dd>
          </>
        )}
        {joined.length > 0 && (
          <>
            <dt>Shares files</dt>
            <dd>
              {joined.map(({ review_id, name, files, files_total }) => (
                <p key={review_id}>
                  <a href={link("review", review_id)}>{visible(name)}</a>:{" "}
                  <bdi>{visible(files.join(", "))}</bdi>
                  {files_total > files.length && ` and ${files_total - files.length} more`}
                </p>
              ))}
            </dd>
          </>
        )}
        {others.length > 0 && (
          <>
            <dt>Same folder</dt>
            <dd>
              <bdi>{visible(others.join(", "))}</bdi>
            </dd>
          </>
        )}
        {decision && (
          <>
            <dt>Decision</dt>
            <dd>
              {decision.kind === "accepted" ? "accepted" : "sent back"} by{" "}
              <bdi>{visible(decision.by)}</bdi>, <Age at={decision.at} suffix=" ago" />
            </dd>
          </>
        )}
      </dl>
      {inexact !== null && <p class="reason">{visible(inexact)}</p>}
    </header>
  );
}

function Decisions(
  { entry, review, next, area }: DetailProps & {
    review: Review;
    area: { readonly current: HTMLElement | null };
  },
) {
  const { key, machine } = entry;
  const { review_id: id, digest, placed, state } = review;
  const refusal = useRefusal();
  const [isSendingBack, setSendingBack] = useState(false);
  const drafts = draftsOf(key).value;
  const params = { id };
  const place = (placed: "in" | "out" | null) =>
    call(at.placeReview, { params, body: { placed, machine } }).then(() =>
      refreshTopics(["reviews"])
    );
  const accept = async () => {
    const reviews = [{ id, ...(digest !== null && { digest }) }];
    const { results: [result] } = await call(at.acceptReviews, { body: { reviews, machine } });
    if (!result?.accepted) throw new Error(result?.detail ?? "It was not accepted");
    notify("Accepted; nothing was merged or pushed", () => place("in"));
    next();
    refreshTopics(["reviews"]);
  };
  const send = async (headers: Record<string, string>) => {
    await call(at.commentReview, { params, body: { comments: [...drafts], machine }, headers });
    keepDrafts(key, []);
    refreshTopics(["reviews"]);
  };
  const comment = () => {
    const first = area.current?.querySelector<HTMLElement>('[data-line="+"], [data-line="-"]');
    if (first) first.focus();
    else notify("No line is shown: open a file first");
    return Promise.resolve();
  };
  return (
    <div class="stack">
      <div class="cluster review-acts">
        <Acting refusal={refusal} letter="a" run={accept} class="primary">Accept</Acting>
        <Acting
          refusal={refusal}
          letter="s"
          run={() => Promise.resolve(setSendingBack(true))}
        >
          Send back
        </Acting>
        <Acting refusal={refusal} letter="c" run={comment}>Comment</Acting>
        <Acting refusal={undefined} letter="n" run={() => Promise.resolve(next())}>Next</Acting>
        {drafts.length > 0 && (
          <Acting refusal={refusal} letter="e" run={send} class="primary">
            Send {drafts.length} {drafts.length === 1 ? "comment" : "comments"}
          </Acting>
        )}
        {state === "ready" && (
          <Acting refusal={refusal} run={() => place("out")} class="quiet">Take out</Acting>
        )}
        {(state === "working" || state === "out") && (
          <Acting
            refusal={refusal}
            run={() => place(state === "out" && placed === "out" ? null : "in")}
            class="quiet"
          >
            Put in
          </Acting>
        )}
      </div>
      {refusal !== undefined && <p class="reason">{refusal}</p>}
      {isSendingBack && (
        <SendBackForm
          close={() => setSendingBack(false)}
          send={async (text, headers) => {
            await call(at.sendBackReview, { params, body: { text, machine }, headers });
            notify("Sent back");
            setSendingBack(false);
            next();
            refreshTopics(["reviews"]);
          }}
        />
      )}
    </div>
  );
}
