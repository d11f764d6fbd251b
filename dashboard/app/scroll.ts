/** The scroll position of each entry of the history, to which the back button returns. */

/** Maximum entries with a position; older ones begin at their top. */
const ENTRIES_MAX = 100;
/** The time for the page to become as long as it was. */
const RESTORE_MS = 3000;
/** Events by which a person chooses the position. */
const OWN_MOVES = ["wheel", "touchmove", "pointerdown", "keydown"] as const;

const positions = new Map<number, number>();
let entry = 0;
let newest = 0;
/** Cancels a running return to a position. */
let stopRestoring = () => {};

const area = () => document.getElementById("main");

/** Call after other listeners of the address: the position is set before the page is drawn. */
export function installScroll(): void {
  entry = entryOf(history.state) ?? enter();
  newest = Math.max(newest, entry);
  addEventListener("hashchange", () => {
    stopRestoring();
    const known = entryOf(history.state);
    entry = known ?? enter();
    const top = known === undefined ? 0 : positions.get(known) ?? 0;
    if (top === 0) area()?.scrollTo({ top });
    // The view is rendered after this event.
    else requestAnimationFrame(() => restore(top));
  });
  // Scrolling does not bubble.
  document.addEventListener("scroll", ({ target }) => {
    if (target === area()) remember();
  }, { capture: true, passive: true });
}

/** Marks the present entry of the history, which has no mark yet. */
function enter(): number {
  newest = Math.max(newest + 1, Date.now());
  history.replaceState({ entry: newest }, "");
  return newest;
}

function entryOf(state: unknown): number | undefined {
  return typeof state === "object" && state !== null && "entry" in state &&
      typeof state.entry === "number"
    ? state.entry
    : undefined;
}

let restoring = false;

function remember(): void {
  if (restoring) return;
  positions.delete(entry);
  positions.set(entry, area()?.scrollTop ?? 0);
  const [oldest] = positions.keys();
  if (positions.size > ENTRIES_MAX && oldest !== undefined) positions.delete(oldest);
}

/** Scrolls to the position, as soon as the page is long enough. */
function restore(top: number): void {
  const box = area();
  if (!box) return;
  const ending = new AbortController();
  stopRestoring = () => ending.abort();
  const { signal } = ending;
  const move = () => {
    box.scrollTop = top;
    if (Math.abs(box.scrollTop - top) < 1) ending.abort();
  };
  restoring = true;
  const observer = new MutationObserver(move);
  const timer = setTimeout(stopRestoring, RESTORE_MS);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    clearTimeout(timer);
    restoring = false;
  });
  for (const type of OWN_MOVES) {
    document.addEventListener(type, stopRestoring, { signal, passive: true });
  }
  observer.observe(box, { childList: true, subtree: true, characterData: true });
  move();
}
