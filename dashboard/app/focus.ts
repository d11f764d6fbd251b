/** Keeps the focus: when its element is removed, the focus moves to the nearest element. */

import { route } from "../state/router.ts";

/** The time for which keys may still be meant for the removed element. */
const DEAF_MS = 1000;

interface Focused {
  readonly element: HTMLElement;
  readonly row: HTMLElement | null;
  /** The place of the row; negative without one. */
  readonly index: number;
  /** True if a person may write into it; a window's field is closed on purpose. */
  readonly is_field: boolean;
}

let last: Focused | undefined;
/** True if the focus waits for the heading of a view that is loading. */
let waits_for_heading = false;
let deaf_until = 0;
let shown_view = "";

const rows = () => [...document.querySelectorAll<HTMLElement>("main [data-row]")];

/** True if single keys do nothing: a person may still be writing into a removed field. */
export function isDeaf(): boolean {
  return performance.now() < deaf_until;
}

export function installFocus(root: HTMLElement): void {
  shown_view = viewName();
  document.addEventListener("focusin", remember);
  addEventListener("hashchange", () => {
    if (viewName() === shown_view) return;
    shown_view = viewName();
    last = undefined;
    // The view is rendered after this event.
    requestAnimationFrame(focusHeading);
  });
  new MutationObserver(restore).observe(root, { childList: true, subtree: true });
}

const viewName = () => `${route.value.view}/${route.value.id}`;

function remember({ target }: FocusEvent): void {
  if (!(target instanceof HTMLElement)) return;
  if (target.tagName !== "H1" && target.id !== "main") waits_for_heading = false;
  const row = target.closest<HTMLElement>("[data-row]");
  const is_field = target.matches("main :is(input, textarea)") && !target.closest("dialog");
  last = { element: target, row, index: row ? rows().indexOf(row) : -1, is_field };
}

/** Called after each change of the page. */
function restore(): void {
  if (waits_for_heading) return focusHeading();
  const { activeElement } = document;
  const is_lost = activeElement === document.body || activeElement === null;
  if (!is_lost || !last || last.element.isConnected) return;
  const { row, index, element, is_field } = last;
  last = undefined;
  if (is_field) deaf_until = performance.now() + DEAF_MS;
  if (row?.isConnected && row !== element) return focus(row);
  const all = rows().filter((visible) => visible.checkVisibility());
  const successor = index < 0 ? undefined : all[Math.min(index, all.length - 1)];
  if (successor) focus(successor);
  else focusHeading();
}

function focusHeading(): void {
  const open = document.querySelector("dialog[open]");
  if (open) return;
  const heading = document.querySelector<HTMLElement>("main h1");
  waits_for_heading = heading === null;
  const target = heading ?? document.getElementById("main");
  if (target && document.activeElement !== target) focus(target);
}

function focus(element: HTMLElement): void {
  if (element.tabIndex < 0 && !element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: element.tagName === "H1" || element.id === "main" });
}
