/** One review: its facts, the person's decisions, and its diff with the comments on its lines. */

import { useRef, useState } from "preact/hooks";
import * as at from "protocol/generated/endpoints.ts";
import type { DiffLine } from "protocol/derived/diff.ts";
import { ResourceView } from "../../components/basics.tsx";
import { ChangesView } from "../../components/changes.tsx";
import type { LineParts } from "../../components/diff.tsx";
import { call } from "../../state/calls.ts";
import type { ReviewDetail as Detail } from "../../state/records.ts";
import { only, useResource } from "../../state/resource.ts";
import { Decisions } from "./decisions.tsx";
import { type Target, targetOf } from "./entries.ts";
import { Facts } from "./facts.tsx";
import { lineComments, Sent } from "./line_comments.tsx";
import { moveByKey } from "./line_keys.ts";

/** The shortest time between two reads: each runs git. */
const INTERVAL_MS = 3_000;

interface DetailProps {
  /** The review's id, or that of its author. */
  readonly id: string;
  readonly machine: string | undefined;
  /** Goes to the next review that is ready. */
  readonly next: () => void;
}

export function ReviewDetail({ id, machine, next }: DetailProps) {
  const params = { id }, query = { machine };
  const load = (signal: AbortSignal) => call(at.readReview, { params, query, signal });
  const topics = ["reviews", "asks", "turns"] as const;
  const options = { interval_ms: INTERVAL_MS };
  const key = `review ${machine ?? ""} ${id}`;
  const resource = only(useResource(key, topics, load, options), [id]);
  return (
    <ResourceView resource={resource}>
      {(detail) => (
        <Loaded
          detail={detail}
          target={targetOf(detail.review, machine)}
          next={next}
          refresh={resource.refresh}
        />
      )}
    </ResourceView>
  );
}

function Loaded(
  { detail, target, next, refresh }: Pick<DetailProps, "next"> & {
    detail: Detail;
    target: Target;
    refresh: () => void;
  },
) {
  const { review, changes, comments } = detail;
  const { key, machine } = target;
  const [chosen, setChosen] = useState<ChosenLine>();
  const area = useRef<HTMLDivElement>(null);
  const linesOf = (file: string): LineParts => ({
    label: (name) => `Comment on ${name}`,
    choose: (line) => setChosen({ file, line, act: "comment" }),
    trace: (line) => setChosen({ file, line, act: "trace" }),
    hasRemoved: true,
    below: (line) =>
      lineComments({
        draftKey: key,
        file,
        line,
        comments,
        review,
        act: chosen?.file === file && isSame(chosen.line, line) ? chosen.act : undefined,
        trace: () => setChosen({ file, line, act: "trace" }),
        close: () => setChosen(undefined),
        path: `${changes.root}/${file}`,
        machine,
      }),
  });
  const shownFiles = new Set(changes.files.flatMap(({ path, hunks }) => hunks ? [path] : []));
  const rest = comments.filter(({ now, file }) => now.line === null || !shownFiles.has(file));
  const loadFile = async (file: string) => {
    const request = { params: { id: review.review_id }, query: { file, machine } };
    return (await call(at.readReview, request)).changes.files[0];
  };
  return (
    <div ref={area} class="stack loose" onKeyDown={(event) => moveByKey(event, area.current)}>
      <Facts review={review} />
      <Decisions target={target} review={review} next={next} area={area} />
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

/** A line that the person comments on, or asks about. */
interface ChosenLine {
  readonly file: string;
  readonly line: DiffLine;
  readonly act: "comment" | "trace";
}

function isSame(one: DiffLine, other: DiffLine): boolean {
  return one.sign === other.sign && one.old === other.old && one.new === other.new;
}
