/** Unsent texts. They outlive a reload, but not the tab, because they may be secret. */

import { PREFIX } from "./calls.ts";
import { keepText, readKept } from "./browser/storage.ts";

/** The longest text that outlives a reload; a message cannot be longer. */
const CHARS_MAX = 262_144;

const written = new Map<string, string>();

/** `name` is unique on the page, such as `answer-ask-1`. */
export function draftOf(name: string): string {
  return written.get(name) ?? readKept(keyOf(name), "session") ?? "";
}

export function keepDraft(name: string, text: string): void {
  if (text) written.set(name, text);
  else written.delete(name);
  keepText(keyOf(name), text && text.length <= CHARS_MAX ? text : null, "session");
}

/** Through a relay, the pages of all machines share one storage. */
function keyOf(name: string): string {
  return `mesh-draft${PREFIX}-${name}`;
}
