/** The narrow form of the page, and the place that the keyboard of a phone leaves. */

import { signal } from "@preact/signals";

/** As in `dashboard/styles/phone.css`. */
const narrow = matchMedia("(max-width: 46rem)");

/** True if the page has the form for a phone. */
export const isPhone = signal(narrow.matches);

/** A smaller loss of height is a bar of the browser. */
const KEYBOARD_PX_MIN = 120;

export function watchPhone(): void {
  narrow.addEventListener("change", () => isPhone.value = narrow.matches);
  const view = globalThis.visualViewport;
  view?.addEventListener("resize", fitKeyboard);
  view?.addEventListener("scroll", fitKeyboard);
}

/**
 * Keeps the page above the keyboard. Some browsers resize the page themselves
 * (`interactive-widget`); the others cover a part of it, which only the visual viewport reports.
 */
function fitKeyboard(): void {
  const view = globalThis.visualViewport;
  if (!view) return;
  const { height, offsetTop, scale } = view;
  // A person who zooms in sees a part of the page as well.
  const covered = scale > 1.01 ? 0 : innerHeight - height;
  const root = document.documentElement;
  const isOpen = covered >= KEYBOARD_PX_MIN;
  const changed = root.classList.contains("keyboard") !== isOpen;
  root.classList.toggle("keyboard", isOpen);
  root.style.setProperty("--visible-height", `${height}px`);
  root.style.setProperty("--visible-top", `${offsetTop}px`);
  if (changed && isOpen) document.activeElement?.scrollIntoView({ block: "nearest" });
}
