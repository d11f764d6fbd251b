/** Comments that a person has written and not sent: the browser keeps them. */

import { type Signal, signal } from "@preact/signals";
import { keepText, readKept } from "../../state/browser/storage.ts";
import { PREFIX } from "../../state/calls.ts";

export interface CommentDraft {
  readonly file: string;
  readonly line: number;
  readonly side: "new" | "old";
  /** The line as the person saw it. */
  readonly seen: string;
  readonly text: string;
}

const drafts = new Map<string, Signal<readonly CommentDraft[]>>();

export function draftsOf(review_id: string): Signal<readonly CommentDraft[]> {
  const known = drafts.get(review_id) ?? signal(parseDrafts(readKept(keyOf(review_id)) ?? "[]"));
  drafts.set(review_id, known);
  return known;
}

export function keepDrafts(review_id: string, next: readonly CommentDraft[]): void {
  draftsOf(review_id).value = next;
  keepText(keyOf(review_id), next.length === 0 ? null : JSON.stringify(next));
}

/** Kept drafts; invalid data is left out. */
function parseDrafts(kept: string): CommentDraft[] {
  try {
    const found: unknown = JSON.parse(kept);
    return Array.isArray(found) ? found.filter(isDraft) : [];
  } catch {
    return [];
  }
}

function isDraft(value: unknown): value is CommentDraft {
  if (typeof value !== "object" || value === null) return false;
  return ["file", "side", "seen", "text"].every((key) =>
    typeof Reflect.get(value, key) === "string"
  ) && typeof Reflect.get(value, "line") === "number";
}

const keyOf = (review_id: string) => `mesh-review ${PREFIX} ${review_id}`;
