/** Attachments: stores uploaded files, serves them, and deletes them when they expire. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import type { Context } from "../../../data/context.ts";
import type { Tx } from "kit/data/sqlite.ts";
import { crypto } from "kit/host/node_library.ts";
import { cleanFilename, cleanMediaType, extensionOf } from "kit/http/filenames.ts";
import { invalidField } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";
import { type Files, isDiskError } from "../../../host/files.ts";
import type { Attachment } from "protocol/messages/attachments.ts";
import { type Part, partsOf } from "./multipart.ts";
import * as rows from "./store.ts";

/** Minimum bytes that a file counts in the total, so that empty files are limited, too. */
const BLOCK_BYTES = 4096;
/** If the total is small, blocks are smaller, so that about this many files fit. */
const BLOCKS_MIN = 262_144;
/** Maximum bytes of a form beyond its file, for boundaries, headers and ignored fields. */
const FORM_OVERHEAD_BYTES_MAX = 65_536;
/** Maximum time without bytes from a caller, whose upload occupies one of few places. */
const IDLE_MS_MAX = 30_000;
/** Minimum speed of an upload that takes longer, because few uploads may run at one time. */
const BYTES_PER_SECOND_MIN = 1024;
const UPLOADS_MAX = 64;
/** Extra time for an expired file that an undelivered message carries. */
const IN_USE_MS = 3_600_000;
/** Time before a file's expiry at which its messages are checked: a file in use never vanishes. */
const IN_USE_CHECK_MS = 60_000;
/** Bytes of a file in memory that are hashed and written at once. */
const CHUNK_BYTES = 262_144;
const EXPIRE_ROWS_MAX = 50;
/** Matches the names that this service creates: it never removes other files of the directory. */
const OWN_FILE = /^att-[0-9a-f]{32}(?:\.[a-z0-9]+)*$/;

export interface Limits {
  readonly file_bytes_max: number;
  readonly total_bytes_max: number;
  readonly ttl_ms: number;
}

interface AttachmentsDeps {
  readonly files: Files;
  readonly limits: Limits;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

/** A file that is stored on the disk but has no row yet. */
type WrittenFile = Omit<rows.StoredAttachment, "created_at" | "expires_at">;

type Parts = AsyncIterable<Part> | Iterable<Part>;
/** Runs in the transaction that writes a file's row. */
type Within = (tx: Tx, attachment: string) => void;

export class Attachments {
  readonly #ctx: Context;
  readonly #deps: AttachmentsDeps;
  /** The running uploads. `bytes` counts what each has received so far. */
  readonly #uploads = new Set<{ bytes: number }>();

  constructor(ctx: Context, deps: AttachmentsDeps) {
    this.#ctx = ctx;
    this.#deps = deps;
  }

  get limits(): Limits {
    return this.#deps.limits;
  }

  /**
   * Stores the one file of a form. The file is complete on the disk before its row is written, so
   * that no row lacks a file. A file without a row, left by a crash, is removed at the next start.
   */
  async store(body: ReadableStream<Uint8Array> | null, boundary: string): Promise<Attachment> {
    if (this.#uploads.size >= UPLOADS_MAX) {
      throw new Problem("too_many_uploads", { uploads: this.#uploads.size });
    }
    const { limits: { file_bytes_max: bytes_max }, shutdownSignal } = this.#deps;
    const uploadLimits = { clock: this.#ctx.clock, bytes_max, shutdownSignal };
    const chunks = readUpload(body ?? ReadableStream.from([]), uploadLimits);
    return await this.#storeFile(partsOf(chunks, boundary));
  }

  /**
   * Stores a file that is in memory, as `store` does. `within` runs in the transaction that writes
   * the file's row, so that another row can name the file exactly if it is stored.
   */
  adopt(
    bytes: Uint8Array,
    { filename, media_type }: { readonly filename: string; readonly media_type: string },
    within?: Within,
  ): Promise<Attachment> {
    const chunks = ReadableStream.from(chunksOf(bytes));
    const part = { name: "file", filename, content_type: media_type, bytes: chunks };
    return this.#storeFile([part], within);
  }

  /** The records of these ids. Throws `unknown_attachment` if an id is unknown or expired. */
  attach(ids: readonly string[] = []): Attachment[] {
    return ids.map((attachment) => {
      const record = this.get(attachment);
      if (!record) throw new Problem("unknown_attachment", { attachment });
      return record;
    });
  }

  /** The record of a file; undefined if it is unknown or expired. */
  get(attachment: string): Attachment | undefined {
    const stored = this.#find(attachment);
    return stored && this.#toRecord(stored);
  }

  /** A file's record and its bytes. */
  async open(attachment: string) {
    const stored = this.#mustFind(attachment);
    await this.#ctx.db.whenDurable();
    const opened = await this.#deps.files.open(stored.file);
    if (opened?.size === stored.size) return { ...stored, body: opened.body };
    await opened?.body.cancel();
    throw new Problem("attachment_lost", { attachment });
  }

  /** Deletes the row and the file, once its recipients have read it. Messages keep its record. */
  delete(attachment: string): void {
    const { db } = this.#ctx;
    db.transact(() => {
      const stored = this.#mustFind(attachment);
      const [message, ...more] = rows.carriersOf(db, attachment);
      if (message === undefined) return this.#remove(stored);
      const messages = more.length + 1;
      throw new Problem("attachment_in_use", { attachment, messages, message });
    });
  }

  /** Removes files without a row, left by a daemon that ended while it wrote or deleted them. */
  start(): void {
    const { files } = this.#deps;
    const names = files.names();
    const known = new Set(names.length > 0 ? rows.files(this.#ctx.db) : []);
    for (const name of names) {
      if (OWN_FILE.test(name) && !known.has(name)) files.remove(name);
    }
  }

  /** Deletes expired files, a few per tick. Files that a recipient has not read yet stay longer. */
  tick(now: number): void {
    const { db } = this.#ctx;
    const soon = rows.overdue(db, now + IN_USE_CHECK_MS, EXPIRE_ROWS_MAX);
    const inUse = soon.filter(({ id }) => rows.carriersOf(db, id).length > 0);
    const expired = soon.filter((stored) => stored.expires_at <= now && !inUse.includes(stored));
    if (inUse.length + expired.length === 0) return;
    db.transact((tx) => {
      for (const stored of expired) this.#remove(stored);
      for (const stored of inUse) rows.update(tx, { ...stored, expires_at: now + IN_USE_MS });
    });
  }

  /** Stores the one part that is a file. */
  async #storeFile(parts: Parts, within?: Within): Promise<Attachment> {
    const upload = { bytes: 0 };
    this.#uploads.add(upload);
    let written: WrittenFile | undefined;
    try {
      for await (const part of parts) {
        if (part.name !== "file") continue;
        if (written) throw invalidField("file", "Send one file per request");
        written = await this.#write(part, upload);
      }
      if (!written) throw invalidField("file", "The form has no field `file`");
      return await this.#record(written, upload, within);
    } catch (error) {
      if (written) this.#deps.files.remove(written.file);
      throw isDiskError(error) ? new Problem("storage_failed", {}, error) : error;
    } finally {
      this.#uploads.delete(upload);
    }
  }

  async #write(part: Part, upload: { bytes: number }): Promise<WrittenFile> {
    if (part.filename === undefined) throw invalidField("file", "The field `file` has no filename");
    const id = `att-${this.#ctx.ids.hex(16)}`;
    const filename = cleanFilename(part.filename);
    const file = `${id}${extensionOf(filename)}`;
    const hash = crypto().createHash("sha256");
    await this.#deps.files.write(file, this.#withinLimits(part.bytes, { upload, hash }));
    const content_type = cleanMediaType(part.content_type);
    return { id, filename, size: upload.bytes, content_type, sha256: hash.digest("hex"), file };
  }

  /** Counts and hashes the bytes as they arrive, and refuses as soon as a limit is exceeded. */
  async *#withinLimits(
    bytes: AsyncIterable<Uint8Array>,
    { upload, hash }: { upload: { bytes: number }; hash: { update(chunk: Uint8Array): unknown } },
  ): AsyncGenerator<Uint8Array> {
    const { file_bytes_max, total_bytes_max } = this.#deps.limits;
    const stored_bytes = rows.storedBytes(this.#ctx.db, blockBytesOf(total_bytes_max));
    for await (const chunk of bytes) {
      upload.bytes += chunk.length;
      if (upload.bytes > file_bytes_max) {
        throw new Problem("attachment_too_large", { bytes_max: file_bytes_max });
      }
      const uploading_bytes = [...this.#uploads].reduce((sum, { bytes }) => sum + bytes, 0);
      if (stored_bytes + uploading_bytes > total_bytes_max) {
        // A refused upload stops counting at once, so that one of two uploads that exceed the limit
        // together remains.
        this.#uploads.delete(upload);
        throw storageFull(total_bytes_max);
      }
      hash.update(chunk);
      yield chunk;
    }
  }

  async #record(
    written: WrittenFile,
    upload: { bytes: number },
    within?: Within,
  ): Promise<Attachment> {
    const { db, clock } = this.#ctx;
    const { ttl_ms, total_bytes_max } = this.#deps.limits;
    const created_at = clock.now();
    const stored = { ...written, created_at, expires_at: created_at + ttl_ms };
    db.transact((tx) => {
      const block = blockBytesOf(total_bytes_max);
      const size = Math.max(written.size, block);
      if (rows.storedBytes(db, block) + size > total_bytes_max) throw storageFull(total_bytes_max);
      rows.insert(tx, stored);
      within?.(tx, stored.id);
    });
    upload.bytes = 0; // From here on, the stored row counts for the total.
    await db.whenDurable();
    return this.#toRecord(stored);
  }

  /** An expired file counts as gone, even before a tick has removed its row. */
  #find(id: string): rows.StoredAttachment | undefined {
    const stored = rows.get(this.#ctx.db, id);
    return stored && stored.expires_at > this.#ctx.clock.now() ? stored : undefined;
  }

  #mustFind(attachment: string): rows.StoredAttachment {
    const stored = this.#find(attachment);
    if (!stored) throw new Problem("attachment_not_found", { attachment });
    return stored;
  }

  #toRecord({ file, ...stored }: rows.StoredAttachment): Attachment {
    return { ...stored, path: this.#deps.files.pathOf(file) };
  }

  #remove({ id, file }: rows.StoredAttachment): void {
    const { db } = this.#ctx;
    db.transact((tx) => rows.remove(tx, id));
    db.afterCommit(() => this.#deps.files.remove(file));
  }
}

/** Bytes in memory as chunks. Other work of the daemon runs between them. */
function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

function blockBytesOf(total_bytes_max: number): number {
  return Math.min(BLOCK_BYTES, Math.ceil(total_bytes_max / BLOCKS_MIN));
}

function storageFull(bytes_max: number): Problem {
  return new Problem("attachments_full", { bytes_max });
}

/** Refuses a body whose Content-Length is too large, before reading it. */
export function refuseTooLarge(headers: Headers, bytes_max: number): void {
  const announced_bytes = Number(headers.get("content-length") ?? 0);
  if (announced_bytes > bytes_max + FORM_OVERHEAD_BYTES_MAX) {
    throw new Problem("attachment_too_large", { bytes_max });
  }
}

/** The chunks of a body. The body is cancelled if the loop is left early or a limit is exceeded. */
async function* readUpload(
  body: ReadableStream<Uint8Array>,
  { clock, bytes_max, shutdownSignal }: {
    clock: Clock;
    bytes_max: number;
    shutdownSignal: AbortSignal;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  const startedAt = clock.now();
  let bytes = 0;
  try {
    for (;;) {
      const next = await timeout(clock, IDLE_MS_MAX, reader.read(), shutdownSignal);
      if (shutdownSignal.aborted) throw new Problem("shutting_down", {});
      if (!next) throw new Problem("body_too_slow", { seconds: IDLE_MS_MAX / 1000 });
      if (next.done) return;
      bytes += next.value.length;
      const took_ms = clock.now() - startedAt;
      if (took_ms > IDLE_MS_MAX && bytes < took_ms / 1000 * BYTES_PER_SECOND_MIN) {
        throw new Problem("body_too_slow", { seconds: Math.floor(took_ms / 1000) });
      }
      if (bytes > bytes_max + FORM_OVERHEAD_BYTES_MAX) {
        throw new Problem("attachment_too_large", { bytes_max });
      }
      yield next.value;
    }
  } finally {
    reader.cancel().catch(() => undefined); // Not awaited, because the caller may be slow or gone.
  }
}
