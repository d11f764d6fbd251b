/** The size of a screen's text, and whether its lines wrap; this browser keeps both. */

import { signal } from "@preact/signals";
import type { FontSizes } from "../../components/terminal/part.ts";
import { isPhone } from "../../state/browser/phone.ts";
import { keepText, readKept } from "../../state/browser/storage.ts";

const SIZES = [7, 9, 11, 13, 16, 20, 24] as const;
/** Without a choice, the text fits the width between these sizes. */
const PX_MAX = 14;
const PX_MIN = { desk: 7, phone: 11 } as const;

const SIZE = "mesh-screen-px", WRAP = "mesh-screen-wrap";

const chosen = signal(SIZES.find((px) => String(px) === readKept(SIZE)));
export const isWrapped = signal(readKept(WRAP) === "yes");

const smallest = () => isPhone.value ? PX_MIN.phone : PX_MIN.desk;

export function fontSizes(): FontSizes {
  const px_min = smallest();
  if (chosen.value === undefined) return { px_min, px_max: PX_MAX };
  const px = Math.max(chosen.value, px_min);
  return { px_min: px, px_max: px };
}

/** `shown_px`: the present size of the text, from which a step is counted. */
export function ScreenSize({ shown_px }: { shown_px: () => number | undefined }) {
  const step = (direction: 1 | -1) => {
    const from = shown_px() ?? fontSizes().px_max;
    const next = direction > 0
      ? SIZES.find((px) => px > from)
      : SIZES.findLast((px) => px < from && px >= smallest());
    if (next === undefined) return;
    chosen.value = next;
    keepText(SIZE, String(next));
  };
  const wrap = () => {
    isWrapped.value = !isWrapped.value;
    keepText(WRAP, isWrapped.value ? "yes" : null);
  };
  return (
    <span class="screen-size">
      <button type="button" onClick={() => step(-1)}>
        <span aria-hidden="true">A−</span>
        <span class="unseen">Smaller text</span>
      </button>
      <button type="button" onClick={() => step(1)}>
        <span aria-hidden="true">A+</span>
        <span class="unseen">Larger text</span>
      </button>
      <button type="button" aria-pressed={isWrapped.value} onClick={wrap}>Wrap</button>
    </span>
  );
}
