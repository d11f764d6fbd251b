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
/** The element that gets the focus in the next view, in place of the heading. */
let target: { readonly view: string; readonly selector: string } | undefined;
let deaf_until = 0;
let shown_view = "";

const rows = () => [...document.querySelectorAll<HTMLElement>("main [data-row]")];

/** True if single keys do nothing: a person may still be writing into a removed field. */
export function isDeaf(): boolean {
  return performance.now() < deaf_until;
}

/** Moves the focus to this element of a view, once the view shows it. */
export function focusOnArrival(view: string, selector: string): void {
  target = { view: `${view}/`, selector };
}

export function installFocus(root: HTMLElement): void {
  shown_view = viewName();
  document.addEventListener("focusin", remember);
  addEventListener("hashchange", () => {
    if (viewName() === shown_view) return;
    shown_view = viewName();
    if (target?.view !== shown_view) target = undefined;
    last = undefined;
    const hadTarget = target !== undefined;
    // The view is rendered after this event.
    requestAnimationFrame(() => {
      if (!hadTarget || target) focusHeading();
    });
  });
  new MutationObserver(restore).observe(root, { childList: true, subtree: true });
}

const viewName = () => `${route.value.view}/${route.value.id}`;

function remember({ target: element }: FocusEvent): void {
  if (!(element instanceof HTMLElement)) return;
  if (element.tagName !== "H1" && element.id !== "main") {
    waits_for_heading = false;
    target = undefined;
  }
  const row = element.closest<HTMLElement>("[data-row]");
  const is_field = element.matches("main :is(input, textarea)") && !element.closest("dialog");
  last = { element, row, index: row ? rows().indexOf(row) : -1, is_field };
}

/** Called after each change of the page. */
function restore(): void {
  if (target?.view === shown_view) document.querySelector<HTMLElement>(target.selector)?.focus();
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
  const element = heading ?? document.getElementById("main");
  if (element && document.activeElement !== element) focus(element);
}

function focus(element: HTMLElement): void {
  if (element.tabIndex < 0 && !element.hasAttribute("tabindex")) element.tabIndex = -1;
  element.focus({ preventScroll: element.tagName === "H1" || element.id === "main" });
}
