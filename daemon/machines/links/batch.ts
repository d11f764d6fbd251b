/** Batches: the entries that one machine publishes to another at once, as JSON, then sealed. */

import * as z from "zod";
import { cleanLine, tryJson } from "kit/core/text.ts";

export const BATCH_ENTRIES_MAX = 64;
/**
 * The bytes of a batch, unless its only entry is larger. Sealing holds up everything else: 4 ms for
 * a batch of this size.
 */
export const BATCH_BYTES_MAX = 128 * 1024;
/** The bytes of one entry's body as JSON. */
export const ENTRY_BYTES_MAX = 1024 * 1024;
/** Maximum bytes that an entry adds to a batch besides its body. */
const ENTRY_OVERHEAD_BYTES = 256;

/** The kind of the entry that reports a refused entry to its sender. */
export const REFUSED = "refused";
/** The kind of a refused entry that keeps its place until the entries before it are confirmed. */
export const ENDED = "ended";

const Tag = z.string().regex(/^[0-9a-f]{16}$/);
const Kind = z.string().regex(/^[a-z_.]{1,64}$/);

const BatchEntry = z.object({
  tag: Tag,
  kind: Kind,
  /** When it was appended, in milliseconds by the sender's clock. */
  at: z.number().int(),
  /** The handler of the kind parses it. */
  body: z.unknown(),
});

/** An entry as it travels. */
export type BatchEntry = z.output<typeof BatchEntry>;

const Batch = z.object({
  /**
   * The entry before the first of this batch; null where a chain of batches begins, and the sender
   * knows of no entry before it. Earlier versions begin each chain with null.
   */
  previous: Tag.nullable(),
  entries: z.array(BatchEntry).max(BATCH_ENTRIES_MAX),
  /** The last entry that the sender has applied from the receiver, with all before it. */
  applied: Tag.nullable(),
  /** Asks the receiver to begin a chain, because the sender misses some of its entries. */
  resend: z.boolean().default(false),
  /**
   * Time at which the sender applied `applied`, by its clock. If the receiver does not know that
   * entry, the database of one of the two went back. Null if the sender has applied nothing; absent
   * if `applied` is null for another reason.
   */
  applied_at: z.number().int().nullable().optional(),
  /** True if the sender has found that its own database went back to an earlier state. */
  lost: z.boolean().default(false),
  /** Asks the receiver to confirm what it has applied, even if this batch holds no entries. */
  confirm: z.boolean().default(false),
});

export type Batch = z.output<typeof Batch>;

/** The body of an entry of kind `refused`. */
export const RefusedBody = z.object({ tag: Tag, reason: z.string().max(255).transform(cleanLine) });
export type RefusedBody = z.output<typeof RefusedBody>;

const utf8 = new TextEncoder();

export function encodeBatch(batch: Batch): Uint8Array {
  return utf8.encode(JSON.stringify(batch));
}

/** Undefined if the bytes are no batch. */
export function decodeBatch(bytes: Uint8Array): Batch | undefined {
  return Batch.safeParse(tryJson(new TextDecoder().decode(bytes))).data;
}

export function isKind(kind: string): boolean {
  return Kind.safeParse(kind).success;
}

/** True if a body as JSON may be an entry. */
export function fitsEntry(json: string): boolean {
  return json.length * 3 <= ENTRY_BYTES_MAX || utf8.encode(json).length <= ENTRY_BYTES_MAX;
}

/**
 * Number of these entries that fit into one batch, by the bytes of their bodies. The first always
 * counts: an entry that is larger than a batch travels alone.
 */
export function countFitting(bytes: readonly number[]): number {
  let sum = 0;
  const beyond = bytes.findIndex((size, index) => {
    sum += size + ENTRY_OVERHEAD_BYTES;
    return index === BATCH_ENTRIES_MAX || (index > 0 && sum > BATCH_BYTES_MAX);
  });
  return beyond < 0 ? bytes.length : beyond;
}
