/** The act that a person is asked to permit: its command, the changes of files, the raw input. */

import { useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { Diff, isShort } from "../../components/diff.tsx";
import { Exact } from "../../components/markdown.tsx";
import { Attachments } from "../../components/message.tsx";
import { exactly, visible } from "../../components/text/visible.tsx";
import type { Ask } from "../../state/records.ts";

export type Act = NonNullable<NonNullable<Ask["question"]>["act"]>;

/** Maximum characters and lines of a text that is shown whole at first. */
const CHARS_MAX = 4000;
const LINES_MAX = 40;

/** The parts of an act that a person has opened. It can be allowed once all of it was shown. */
export interface Sight {
  readonly isWhole: boolean;
  readonly showWhole: () => void;
  /** True if all of the act was shown, or its file was opened. */
  readonly isSeen: boolean;
  readonly openFile: () => void;
}

export function useSight(act: Act | undefined): Sight {
  const [isWhole, setWhole] = useState(false);
  const [isOpened, setOpened] = useState(false);
  return {
    isWhole,
    showWhole: () => setWhole(true),
    isSeen: act === undefined || ((isWhole || isBrief(act)) && (isOpened || !act.is_cut)),
    openFile: () => setOpened(true),
  };
}

/** True if all of an act is shown at first. */
function isBrief({ command, address, details, files }: Act): boolean {
  const texts = [command, address, ...details.flatMap(({ name, value }) => [name, value])];
  return files.every(isShort) && texts.every((text) => text === null || startOf(text) === text);
}

/** The parts of an ask that show its act. */
type ShownAsk = Pick<Ask, "text" | "question" | "attachments">;

export function ActView({ ask, act, sight }: { ask: ShownAsk; act: Act; sight: Sight }) {
  const { command, folder, address, files, details, is_cut, covers_text } = act;
  return (
    <div class="act stack">
      {!covers_text && <Exact text={ask.text} />}
      {command !== null && <Block label="Command" sight={sight} text={command} sign="$ " />}
      {command !== null && folder !== null && (
        <p class="hint">
          in <bdi>{visible(folder)}</bdi>
        </p>
      )}
      {address !== null && <Block label="Address" sight={sight} text={address} />}
      {files.map((file, index) => (
        <Diff key={index} file={file} whole={sight.isWhole} showWhole={sight.showWhole} />
      ))}
      {details.length > 0 && (
        <dl class="details inset">
          {details.map(({ name, value }, index) => (
            <div key={index}>
              <dt>{visible(name)}</dt>
              <dd>
                <Block label={name} sight={sight} text={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      <Raw ask={ask} act={act} />
      {is_cut && <p class="hint">Not all of it is shown here. This file has all of it:</p>}
      <Files onOpen={sight.openFile}>
        <Attachments of={ask.attachments} />
      </Files>
    </div>
  );
}

/** A text exactly as it is, with a button that shows the rest of a long one. */
function Block(
  { label, text, sign = "", sight }: { label: string; text: string; sign?: string; sight: Sight },
) {
  const shown = sight.isWhole ? text : startOf(text);
  const missing = text.length - shown.length;
  return (
    <>
      <pre class="exact inset" dir="auto" aria-label={label}>
        {sign && <span class="prompt-sign" aria-hidden="true">{sign}</span>}
        {exactly(shown)}
      </pre>
      {missing > 0 && (
        <button type="button" onClick={sight.showWhole}>
          Show {missing.toLocaleString()} more characters
        </button>
      )}
    </>
  );
}

function startOf(text: string): string {
  const lines = text.split("\n", LINES_MAX + 1);
  const start = lines.length > LINES_MAX ? lines.slice(0, LINES_MAX).join("\n") : text;
  return start.length > CHARS_MAX ? start.slice(0, CHARS_MAX).toWellFormed() : start;
}

/** The input as the agent gave it: open if nothing else shows it. */
function Raw(
  { ask: { text, question }, act: { kind, covers_text } }: { ask: ShownAsk; act: Act },
) {
  const input = question?.metadata?.["tool_input"];
  const shown = typeof input === "string" ? input : JSON.stringify(input ?? null, null, 2);
  return (
    <details class="context" open={kind === "other"}>
      <summary>Raw</summary>
      {covers_text && <pre class="inset" dir="auto">{visible(text)}</pre>}
      <pre class="inset" dir="auto">{exactly(shown)}</pre>
    </details>
  );
}

/** Reports that a person opened a file. A preview shows only its beginning. */
function Files({ onOpen, children }: { onOpen: () => void; children: ComponentChildren }) {
  const onClick = ({ target }: MouseEvent) => {
    if (target instanceof Element && target.closest("a[download]")) onOpen();
  };
  return <div onClick={onClick}>{children}</div>;
}
