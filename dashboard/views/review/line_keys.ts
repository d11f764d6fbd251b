/**
 * Keys on the lines of a diff: j and k move, c or Enter acts on a line, Escape goes back to the
 * list. The line itself handles b.
 */

/** Moves the focus between lines; other keys stay with the page. */
export function moveByKey(event: KeyboardEvent, area: HTMLElement | null): void {
  const { target, key } = event;
  if (!(target instanceof HTMLElement) || target.dataset["line"] === undefined || !area) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const by = BY_KEY[key];
  if (by !== undefined) focusBeside(target, area, by);
  else if (key === "c") target.click();
  else if (key === "Escape") focusList(target);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

const BY_KEY: Readonly<Record<string, number>> = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };

function focusBeside(line: HTMLElement, area: HTMLElement, by: number): void {
  const lines = [...area.querySelectorAll<HTMLElement>("[data-line]")]
    .filter((line) => line.checkVisibility());
  const index = Math.max(0, Math.min(lines.length - 1, lines.indexOf(line) + by));
  lines[index]?.focus();
}

/** The chosen row of the list; without a list, the line loses the focus. */
function focusList(line: HTMLElement): void {
  const row = document.querySelector<HTMLElement>("main [data-row][aria-current]");
  if (row) row.focus();
  else line.blur();
}
