/** The width of the page, as far as a view is another one where there is room. */

import { signal } from "@preact/signals";

const TWO_PANES = matchMedia("(min-width: 1400px)");

/** True if a list and its chosen record have room side by side. */
export const hasTwoPanes = signal(TWO_PANES.matches);

TWO_PANES.addEventListener("change", ({ matches }) => hasTwoPanes.value = matches);
