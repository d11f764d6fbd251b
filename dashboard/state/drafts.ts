/** Unsent texts. They outlive a reload, but not the tab, because they may be secret. */

import { PREFIX } from "./calls.ts";

/** The longest text that outlives a reload; a message cannot be longer. */
const CHARS_MAX = 262_144;

const written = new Map<string, string>();

/** `name` is unique on the page, such as `answer-ask-1`. */
export function draftOf(name: string): string {
  return written.get(name) ?? withStorage((storage) => storage.getItem(keyOf(name))) ?? "";
}

export function keepDraft(name: string, text: string): void {
  if (text) written.set(name, text);
  else written.delete(name);
  withStorage((storage) => {
    if (text && text.length <= CHARS_MAX) storage.setItem(keyOf(name), text);
    else storage.removeItem(keyOf(name));
  });
}

/** Through a relay, the pages of all machines share one storage. */
function keyOf(name: string): string {
  return `mesh-draft${PREFIX}-${name}`;
}

/** The storage may be full or blocked; a draft then lasts as long as the page. */
function withStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}
