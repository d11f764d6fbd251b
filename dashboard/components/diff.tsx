/** The changes of a file: its lines with their numbers and signs, removed and added in colour. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type DiffLine, type FileDiff, numberLines } from "protocol/derived/diff.ts";
import { exactly, visible } from "./text/visible.tsx";

/** Maximum lines and characters of a diff that are shown at first. */
const LINES_MAX = 40;
const CHARS_MAX = 8000;

/** For a diff whose lines can be commented on or traced. */
export interface LineParts {
  /** The act of a click, for a line that is named `line 12`. */
  readonly label: (name: string) => string;
  readonly choose: (line: DiffLine) => void;
  /** The act of the key `b`, for lines that the file still has. */
  readonly trace: (line: DiffLine) => void;
  /** False if removed lines cannot be chosen. */
  readonly hasRemoved: boolean;
  /** The parts below a line. */
  readonly below: (line: DiffLine) => ComponentChildren;
}

/** `whole` and `showWhole`: for a parent that must know whether everything is shown. */
export function Diff(
  { file, whole: isWholeOutside, showWhole, lines: parts }: {
    file: FileDiff;
    whole?: boolean;
    showWhole?: () => void;
    lines?: LineParts | undefined;
  },
) {
  const [isWholeHere, setWhole] = useState(false);
  const isWhole = isWholeOutside ?? isWholeHere;
  const hunks = file.hunks.map(numberLines);
  const shown = isWhole ? hunks : firstLines(hunks);
  const missing = countAll(hunks) - countAll(shown);
  return (
    <figure class="diff">
      <figcaption class="row between">
        <DiffPath file={file} />
        <DiffCounts file={file} />
        {file.note && <span class="hint">{file.note}</span>}
      </figcaption>
      {shown.length > 0 && (
        <table aria-label={`Changes of ${file.path}`}>
          <thead class="unseen">
            <tr>
              <th>Line before</th>
              <th>Line after</th>
              <th>Change</th>
              <th>Text</th>
            </tr>
          </thead>
          {shown.map((lines, index) => (
            <tbody key={index}>
              {lines.map((line, at) => <Line key={at} line={line} parts={parts} />)}
            </tbody>
          ))}
        </table>
      )}
      {missing > 0 && (
        <button type="button" onClick={showWhole ?? (() => setWhole(true))}>
          Show {missing.toLocaleString()} more {missing === 1 ? "line" : "lines"}
        </button>
      )}
    </figure>
  );
}

function DiffPath({ file: { path, old_path } }: { file: FileDiff }) {
  return (
    <bdi class="diff-path">
      {old_path !== undefined && <>{visible(old_path)} →{" "}</>}
      {visible(path)}
    </bdi>
  );
}

function DiffCounts({ file: { added, removed } }: { file: FileDiff }) {
  return (
    <span class="counts">
      {added > 0 && <ins>+{added.toLocaleString()}</ins>}
      {removed > 0 && <del>−{removed.toLocaleString()}</del>}
    </span>
  );
}

const KINDS: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "\\": "remark" };

function Line({ line, parts }: { line: DiffLine; parts?: LineParts | undefined }) {
  const { sign, text, old, new: fresh } = line;
  const shown = exactly(text);
  const below = parts?.below(line);
  const isRemoved = sign === "-";
  return (
    <>
      <tr class={KINDS[sign]}>
        <td class="line-number">
          {parts?.hasRemoved && isRemoved ? <LineButton of={line} {...parts} /> : old}
        </td>
        <td class="line-number">
          {parts && !isRemoved && sign !== "\\" ? <LineButton of={line} {...parts} /> : fresh}
        </td>
        <td class="sign">{isRemoved ? "−" : sign}</td>
        <td class="line" dir="auto">
          {sign === "+" ? <ins>{shown}</ins> : isRemoved ? <del>{shown}</del> : shown}
        </td>
      </tr>
      {below && (
        <tr>
          <td colSpan={4}>{below}</td>
        </tr>
      )}
    </>
  );
}

/** The number of a line, which acts on it. Keys move between lines, so Tab passes them by. */
function LineButton({ of, label, choose, trace }: { of: DiffLine } & LineParts) {
  const number = of.sign === "-" ? of.old : of.new;
  const traceByKey = (event: KeyboardEvent) => {
    if (event.key !== "b" || of.sign === "-" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    trace(of);
  };
  return (
    <button
      type="button"
      class="quiet"
      data-line={of.sign}
      tabIndex={-1}
      aria-label={label(`${of.sign === "-" ? "removed line" : "line"} ${number}`)}
      onClick={() => choose(of)}
      onKeyDown={traceByKey}
    >
      {number}
    </button>
  );
}

/** True if a diff is shown whole at first. */
export function isShort({ hunks }: FileDiff): boolean {
  const all = hunks.map(numberLines);
  return countAll(firstLines(all)) === countAll(all);
}

/** The lines within the limits, at least one. */
function firstLines(hunks: readonly DiffLine[][]): DiffLine[][] {
  let lines = LINES_MAX, chars = CHARS_MAX;
  const isWithin = ({ text }: DiffLine) => {
    const fits = lines > 0 && chars > 0;
    lines--;
    chars -= text.length;
    return fits;
  };
  return hunks.map((hunk) => hunk.filter(isWithin)).filter((hunk) => hunk.length > 0);
}

function countAll(hunks: readonly DiffLine[][]): number {
  return hunks.reduce((sum, { length }) => sum + length, 0);
}
