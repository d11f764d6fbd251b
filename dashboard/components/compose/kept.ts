/** The drafts and templates that the browser keeps for this page. Invalid data is left out. */

import { keepText, readKept } from "../../state/browser/storage.ts";
import type { FileFacts } from "../../state/records.ts";

export type Mode = "ask" | "notify";

/** A file of a draft: uploaded already, and deleted by the daemon when it expires. */
export interface DraftFile extends FileFacts {
  readonly expires_at: string;
}

export interface Draft {
  readonly text: string;
  readonly mode: Mode;
  readonly files: readonly DraftFile[];
}

export interface Template {
  readonly name: string;
  readonly text: string;
}

export const EMPTY: Draft = { text: "", mode: "ask", files: [] };
export const TEMPLATES_MAX = 50;

/** A kept draft without expired files. Unreadable data becomes its text. */
export function parseDraft(kept: string, now: number): Draft {
  if (!kept.startsWith("{")) return { ...EMPTY, text: kept };
  try {
    const { text, mode, files } = JSON.parse(kept);
    return {
      text: typeof text === "string" ? text : "",
      mode: mode === "notify" ? "notify" : "ask",
      files: Array.isArray(files)
        ? files.filter(isDraftFile).filter(({ expires_at }) => Date.parse(expires_at) > now)
        : [],
    };
  } catch {
    return { ...EMPTY, text: kept };
  }
}

function isDraftFile(file: unknown): file is DraftFile {
  if (typeof file !== "object" || file === null) return false;
  const texts = ["id", "filename", "content_type", "expires_at"];
  return texts.every((key) => typeof Reflect.get(file, key) === "string") &&
    typeof Reflect.get(file, "size") === "number";
}

/** Kept templates, up to their limit. */
export function parseTemplates(kept: string): Template[] {
  try {
    const found: unknown = JSON.parse(kept);
    return Array.isArray(found) ? found.filter(isTemplate).slice(0, TEMPLATES_MAX) : [];
  } catch {
    return [];
  }
}

function isTemplate(value: unknown): value is Template {
  if (typeof value !== "object" || value === null) return false;
  return typeof Reflect.get(value, "name") === "string" &&
    typeof Reflect.get(value, "text") === "string";
}

const keyOf = (peer_id: string) => `mesh-draft-${peer_id}`;

export function loadDraft(peer_id: string, now = Date.now()): Draft {
  return parseDraft(readKept(keyOf(peer_id)) ?? "", now);
}

/** Stores a draft, and deletes an empty one. If the storage is full, only the page has it. */
export function keepDraft(peer_id: string, draft: Draft): void {
  const is_empty = draft.text === "" && draft.files.length === 0;
  keepText(keyOf(peer_id), is_empty ? null : JSON.stringify(draft));
}
