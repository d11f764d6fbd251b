/** Texts that the browser keeps for this page. If its storage is full or blocked, it keeps none. */

/** `session` outlives a reload, but not the tab. */
type Area = "local" | "session";

/** Null if nothing is kept. */
export function readKept(key: string, area: Area = "local"): string | null {
  try {
    return storageOf(area).getItem(key);
  } catch {
    return null;
  }
}

/** Keeps a text; null removes it. */
export function keepText(key: string, text: string | null, area: Area = "local"): void {
  try {
    if (text === null) storageOf(area).removeItem(key);
    else storageOf(area).setItem(key, text);
  } catch {
    // Only the page has it.
  }
}

function storageOf(area: Area): Storage {
  return area === "local" ? localStorage : sessionStorage;
}
