/** Keys: they work everywhere but in fields and windows. */

import { signal } from "@preact/signals";
import { keepText, readKept } from "../state/browser/storage.ts";
import { go, link } from "../state/router.ts";
import { focusOnArrival, isDeaf } from "./focus.ts";
import { VIEWS } from "./views.ts";

export const overlay = signal<"none" | "palette" | "keys" | "machines">("none");

/** The time for the second key of a sequence. */
const SEQUENCE_MS = 1500;

const SWITCH = "mesh-single-keys";

/** True if single keys are commands; people who dictate turn them off (WCAG 2.1.4). */
export const singleKeys = signal(readKept(SWITCH) !== "off");

export function switchSingleKeys(on: boolean): void {
  singleKeys.value = on;
  keepText(SWITCH, on ? null : "off");
}

export const KEYS: readonly (readonly [keys: string, text: string])[] = [
  ["⌘K or Ctrl K", "Go to a view, a peer or a job, or act"],
  ...VIEWS.map(({ key, title }) => [`g ${key}`, title] as const),
  ["j, k", "Next, previous row"],
  ["Enter", "Open the row"],
  ["a", "Answer the row, or the first question"],
  ["1, 2, 3", "Allow, deny, deny and say why: the permission in the row"],
  ["a, s, c, e, n, x", "In Review: accept, send back, comment on a line, send, next, mark"],
  ["A, S", "In Review: accept, send back all marked ones"],
  ["b", "In Changes: go to the lines; on a line, also in Review: where it came from"],
  ["/", "Search"],
  ["c", "Write to the peer"],
  ["n", "Start an agent"],
  ["Escape", "Leave a field, close a window"],
  ["?", "These keys"],
];

let sequence_until = 0;

export function installKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.metaKey || event.ctrlKey)) {
      event.preventDefault();
      overlay.value = "palette";
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || overlay.value !== "none") return;
    const { target } = event;
    if (target instanceof HTMLElement && target.closest("input, textarea, select, dialog")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    const is_single = event.key.length === 1;
    if (is_single && (isDeaf() || !singleKeys.value)) return;
    if (press(event.key)) event.preventDefault();
  });
}

/** True if the key did something. */
function press(key: string): boolean {
  const in_sequence = performance.now() < sequence_until;
  sequence_until = 0;
  const view = in_sequence ? VIEWS.find((view) => view.key === key) : undefined;
  if (view) {
    go(link(view.name));
    return true;
  }
  if (pressInView(key)) return true;
  switch (key) {
    case "g":
      sequence_until = performance.now() + SEQUENCE_MS;
      return true;
    case "j":
      return moveFocus(1);
    case "k":
      return moveFocus(-1);
    case "a":
      return answer();
    case "1":
    case "2":
    case "3":
      return pressInRow(key);
    case "/":
      return focusOn("[data-search]") || searchLog();
    case "c":
      return focusOn("[data-compose]");
    case "Enter":
      return openRow();
    case "n":
      go(link("mesh", "", { new: "agent" }));
      return true;
    case "?":
      overlay.value = "keys";
      return true;
    default:
      return false;
  }
}

function moveFocus(by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")]
    .filter((row) => row.checkVisibility() && !row.closest("[data-pane]"));
  const { activeElement } = document;
  const in_pane = activeElement?.closest("[data-pane]");
  const at = rows.findIndex((row) =>
    in_pane ? row.ariaCurrent === "true" : row.contains(activeElement)
  );
  const next = at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by;
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
  return true;
}

/** A row that is not itself a link or button opens by its link. */
function openRow(): boolean {
  const row = document.activeElement;
  if (!row?.matches("main [data-row]:not(a, button)")) return false;
  const to = row.querySelector<HTMLElement>("[data-open]") ??
    row.querySelector<HTMLElement>("a[href]");
  to?.click();
  return to !== null;
}

/** The focused row; for a row of a list beside its chosen record, the card of that record. */
function focusedRow(): Element | null | undefined {
  const row = document.activeElement?.closest<HTMLElement>("main [data-row]");
  return row?.dataset["card"] === undefined ? row : document.getElementById(row.dataset["card"]);
}

function answer(): boolean {
  const row = focusedRow();
  const found = row?.querySelector<HTMLElement>("[data-answer]") ??
    document.querySelector<HTMLElement>("main [data-answer]");
  if (found) found.focus();
  else go(link("attention"));
  return true;
}

/**
 * Presses the button of the view that has this key. A view that names it as its own keeps it, also
 * while the button is not shown.
 */
function pressInView(key: string): boolean {
  const button = document.querySelector<HTMLElement>(`main [data-view-key="${CSS.escape(key)}"]`);
  button?.click();
  return button !== null ||
    document.querySelector(`main [data-view-keys~="${CSS.escape(key)}"]`) !== null;
}

/** Presses the button of the focused row that has this key. */
function pressInRow(key: string): boolean {
  const button = focusedRow()?.querySelector<HTMLElement>(`[data-key="${key}"]`);
  button?.click();
  return button !== null && button !== undefined;
}

function searchLog(): boolean {
  focusOnArrival("log", "main [data-search]");
  go(link("log"));
  return true;
}

function focusOn(selector: string): boolean {
  const found = document.querySelector<HTMLElement>(`main ${selector}`);
  found?.focus();
  return found !== null;
}
