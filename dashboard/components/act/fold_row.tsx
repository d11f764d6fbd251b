/** A row of a list that unfolds what is below it. */

import type { ComponentChildren } from "preact";

export function FoldRow(
  { open, turn, children }: { open: boolean; turn: () => void; children: ComponentChildren },
) {
  return (
    <button type="button" class="row list-row" data-row aria-expanded={open} onClick={turn}>
      {children}
    </button>
  );
}
