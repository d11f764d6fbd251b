/** Files in the entries for another machine: their description, and why one did not arrive. */

import * as z from "zod";
import { ATTACHMENTS_MAX } from "protocol/messages/attachments.ts";
import { cleanFilename } from "kit/http/filenames.ts";

/** A file of an entry. The other machine trusts no part of it but compares the file with it. */
export const SentFile = z.object({
  /** Its id on the machine that sent it. */
  attachment_id: z.string().max(64),
  filename: z.string().max(255),
  media_type: z.string().max(255),
  size: z.number().int().nonnegative(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  /** The random name of the file on the bus, which says nothing about the file. */
  object: z.string().regex(/^[0-9a-f]{32}$/),
});
export type SentFile = z.output<typeof SentFile>;

/** The files of one message, for the schemas of entries. */
export const SentFiles = z.array(SentFile).max(ATTACHMENTS_MAX);

/** The files of a message, and the files of the reply that closes an ask. */
const Carrier = z.object({
  attachments: SentFiles.default([]),
  reply_attachments: SentFiles.default([]),
});

/** The fields of an entry that are read here. */
export interface FileEntry {
  readonly body: unknown;
}

/** The files that entries name, once per mention; none for a malformed entry, refused later. */
export function filesOf(entries: readonly FileEntry[]): SentFile[] {
  return entries.flatMap(({ body }) => {
    const { data } = Carrier.safeParse(body);
    return data ? [...data.attachments, ...data.reply_attachments] : [];
  });
}

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
