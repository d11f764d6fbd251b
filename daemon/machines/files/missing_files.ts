/** Files that did not reach this machine: for each reason, the sentence that a message gets. */

import * as z from "zod";
import { cleanFilename } from "kit/http/filenames.ts";
import type { SentFile } from "./sent_files.ts";

/** Reasons that only the sending machine knows. It reports them instead of the file. */
export const SenderReason = z.enum(["deleted", "unreadable", "not_taken"]);

/** Reasons are typed by this table, so a reason without a sentence does not compile. */
// deno-fmt-ignore
const SENTENCES = {
  deleted:    "it was deleted on the sending machine, or had expired there",
  unreadable: "the sending machine could not read it",
  not_taken:  "the bus did not take it from the sending machine",
  gone:       "the bus no longer has it",
  damaged:    "the bus had something else in its place",
  too_large:  "it is larger than this machine allows",
  full:       "there is no room for it among the attachments of this machine",
  failed:     "it could not be fetched from the bus and stored",
  removed:    "it was deleted on this machine, or has expired here",
} as const;

export const MissingReason = z.enum([
  ...SenderReason.options,
  "gone",
  "damaged",
  "too_large",
  "full",
  "failed",
  "removed",
]);
export type MissingReason = keyof typeof SENTENCES;

/** One line for the message that should have carried the file. */
export function toLine({ filename, size }: SentFile, reason: MissingReason): string {
  const name = cleanFilename(filename);
  return `[The attachment "${name}" (${size} bytes) did not arrive: ${SENTENCES[reason]}.]`;
}
