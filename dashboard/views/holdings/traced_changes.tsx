/** Changes in which a click on a line, or the key b, shows where the line came from. */

import { useRef, useState } from "preact/hooks";
import { type ChangesProps, ChangesView } from "../../components/changes.tsx";
import type { LineParts } from "../../components/diff.tsx";
import { moveByKey } from "../review/line_keys.ts";
import { LineOrigin } from "./line_origin.tsx";

interface TracedProps extends ChangesProps {
  /** The machine of the folder; undefined for this one. */
  readonly machine: string | undefined;
}

export function TracedChanges({ machine, ...props }: TracedProps) {
  const { root, files } = props.changes;
  const [chosen, setChosen] = useState<{ readonly file: string; readonly line: number }>();
  const area = useRef<HTMLDivElement>(null);
  const linesOf = (file: string): LineParts => {
    const trace = ({ new: line }: { readonly new: number | null }) =>
      setChosen(line === null ? undefined : { file, line });
    return {
      label: (name) => `Where does ${name} come from?`,
      choose: trace,
      trace,
      hasRemoved: false,
      below: ({ sign, new: line }) =>
        sign !== "-" && chosen?.file === file && chosen.line === line && (
          <LineOrigin
            path={`${root}/${file}`}
            line={chosen.line}
            machine={machine}
            close={() => setChosen(undefined)}
          />
        ),
    };
  };
  const focusLine = () => area.current?.querySelector<HTMLElement>("[data-line]")?.focus();
  return (
    <div
      ref={area}
      class="stack"
      onKeyDown={(event) => moveByKey(event, area.current)}
    >
      {files.length > 0 && (
        <p class="hint line-hint">
          The number of a line shows where it came from.{" "}
          <button type="button" class="quiet" data-view-key="b" onClick={focusLine}>
            Go to the lines<kbd aria-hidden="true">b</kbd>
          </button>
        </p>
      )}
      <ChangesView {...props} linesOf={linesOf} />
    </div>
  );
}
