/** Keeps the draft for a peer: its text, its kind and its files outlive a reload of the page. */

import { type Draft, parseDraft } from "./kept.ts";

const keyOf = (peer_id: string) => `mesh-draft-${peer_id}`;

export function loadDraft(peer_id: string, now = Date.now()): Draft {
  return parseDraft(readStorage(keyOf(peer_id)) ?? "", now);
}

/** Also null if the browser keeps nothing for this page. */
function readStorage(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** Stores a draft, and deletes an empty one. If the storage is full, only the page has it. */
export function keepDraft(peer_id: string, draft: Draft): void {
  const is_empty = draft.text === "" && draft.files.length === 0;
  try {
    if (is_empty) localStorage.removeItem(keyOf(peer_id));
    else localStorage.setItem(keyOf(peer_id), JSON.stringify(draft));
  } catch {
    // The browser keeps nothing for this page.
  }
}
