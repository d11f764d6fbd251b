/** The comments below a line of a diff: sent ones with their answers, and those not sent. */

import { lineWords } from "protocol/reviews/lines.ts";
import type { DiffLine } from "protocol/derived/diff.ts";
import { Age } from "../../components/basics.tsx";
import { visible } from "../../components/text/visible.tsx";
import type { Review, ReviewComment } from "../../state/records.ts";
import { link } from "../../state/router.ts";
import { LineOrigin } from "../holdings/line_origin.tsx";
import { draftsOf, keepDrafts } from "./drafts.ts";
import { CommentForm } from "./forms.tsx";

interface LineCommentsProps {
  readonly draftKey: string;
  readonly file: string;
  readonly line: DiffLine;
  readonly comments: readonly ReviewComment[];
  readonly review: Review;
  /** The person comments on this line now, or asks where it came from. */
  readonly act: "comment" | "trace" | undefined;
  readonly trace: () => void;
  readonly close: () => void;
  /** The absolute path of the file, on another machine if one is named. */
  readonly path: string;
  readonly machine: string | undefined;
}

/** Null if there is nothing below the line. */
export function lineComments(props: LineCommentsProps) {
  const { draftKey, file, line, comments, review, act, trace, close, path, machine } = props;
  const at = placeOf(line);
  const drafts = draftsOf(draftKey).value;
  const own = drafts.filter((draft) => isAt(draft, file, at));
  const sent = comments.filter((comment) => isAt(nowAt(comment), file, at));
  if (own.length + sent.length === 0 && act === undefined) return null;
  const discard = (draft: typeof drafts[number]) =>
    keepDrafts(draftKey, drafts.filter((other) => other !== draft));
  const add = (text: string) => {
    keepDrafts(draftKey, [...drafts, { file, ...at, seen: line.text, text }]);
    close();
  };
  return (
    <div class="stack">
      {sent.map((comment) => <Sent key={comment.comment_id} comment={comment} of={review} />)}
      {own.map((draft, index) => (
        <p key={index} class="rail warn">
          Not sent: {visible(draft.text)}{" "}
          <button type="button" class="quiet" onClick={() => discard(draft)}>Discard</button>
        </p>
      ))}
      {act === "comment" && (
        <>
          <CommentForm label={`Comment on line ${at.line}`} add={add} close={close} />
          {at.side === "new" && (
            <button type="button" class="quiet" onClick={trace}>Where does it come from?</button>
          )}
        </>
      )}
      {act === "trace" && <LineOrigin path={path} line={at.line} machine={machine} close={close} />}
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

export function Sent({ comment, of: { author } }: { comment: ReviewComment; of: Review }) {
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
