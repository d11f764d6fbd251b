/** Descriptions of files in the entries for another machine. */

import * as z from "zod";
import { ATTACHMENTS_MAX } from "protocol/messages/attachments.ts";

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

/**
 * The files that entries name, once per mention. An entry with a malformed part counts as an entry
 * without files: applying the entry refuses it.
 */
export function filesOf(entries: readonly FileEntry[]): SentFile[] {
  return entries.flatMap(({ body }) => {
    const { data } = Carrier.safeParse(body);
    return data ? [...data.attachments, ...data.reply_attachments] : [];
  });
}
