/** The attachments desk: takes files in, hands them out, lets them go when their time is over. */

import { createHash } from "node:crypto";
import * as z from "zod";
import type { Ground } from "kit/data/context.ts";
import { cleanName, cleanType, extensionOf } from "kit/http/filenames.ts";
import { invalidRequest, Problem } from "kit/core/problem.ts";
import type { Files } from "../../../host/files.ts";
import type { Attachment } from "./contract.ts";
import { intake } from "./intake.ts";
import { type Part, partsOf } from "./multipart.ts";
import * as rows from "./store.ts";

/** What a file takes of the whole at least, as on a disk: or empty ones could be without number. */
const BLOCK_BYTES = 4096;
/** Where the whole is small, blocks are too: so many files fit in any case. */
const BLOCKS_MIN = 262_144;
const UPLOADS_MAX = 64;
const EXPIRE_ROWS_MAX = 50;
/** The files in our directory that are ours to remove. */
const OURS = /^att-[0-9a-f]{32}(?:\.[a-z0-9]+)*$/;

export interface Limits {
  readonly file_bytes_max: number;
  readonly total_bytes_max: number;
  readonly ttl_ms: number;
}

export interface AttachmentsNeeds {
  readonly files: Files;
  readonly limits: Limits;
  /** Aborts as the daemon goes down. */
  readonly ending: AbortSignal;
}

/** A file that is on the disk, and of which nothing else is known yet. */
type Written = Pick<rows.Stored, "id" | "filename" | "size" | "content_type" | "sha256" | "file">;

export class Attachments {
  readonly #ground: Ground;
  readonly #needs: AttachmentsNeeds;
  /** Uploads that are under way, and the bytes that they have brought so far. */
  readonly #arriving = new Set<{ bytes: number }>();

  constructor(ground: Ground, needs: AttachmentsNeeds) {
    this.#ground = ground;
    this.#needs = needs;
  }

  get limits(): Limits {
    return this.#needs.limits;
  }

  /**
   * Takes the one file of a form. It is whole on the disk before its row is, so that no row is
   * without a file; a file without a row, after a crash, goes at the next start.
   */
  async take(body: ReadableStream<Uint8Array> | null, boundary: string): Promise<Attachment> {
    if (this.#arriving.size >= UPLOADS_MAX) {
      throw new Problem("too_many_uploads", { uploads: this.#arriving.size });
    }
    const arrival = { bytes: 0 };
    this.#arriving.add(arrival);
    let written: Written | undefined;
    try {
      const { limits: { file_bytes_max: bytes_max }, ending } = this.#needs;
      const patience = { clock: this.#ground.clock, bytes_max, ending };
      const chunks = intake(body ?? ReadableStream.from([]), patience);
      for await (const part of partsOf(chunks, boundary)) {
        if (part.name !== "file") continue;
        if (written) throw unfit("One file at a time");
        written = await this.#write(part, arrival);
      }
      if (!written) throw unfit("There is no such field");
      return await this.#record(written, arrival);
    } catch (fault) {
      if (written) this.#needs.files.remove(written.file);
      throw fault;
    } finally {
      this.#arriving.delete(arrival);
    }
  }

  /** The records of what a message attaches; refuses the first that is unknown or expired. */
  attach(ids: readonly string[] = []): Attachment[] {
    return ids.map((attachment) => {
      const stored = this.#find(attachment);
      if (!stored) throw new Problem("unknown_attachment", { attachment });
      return this.#toRecord(stored);
    });
  }

  /** What is known of a file, and its bytes. */
  async open(attachment: string) {
    const stored = this.#mustFind(attachment);
    await this.#ground.db.durable();
    const opened = await this.#needs.files.open(stored.file);
    if (opened?.size === stored.size) return { ...stored, body: opened.body };
    await opened?.body.cancel();
    throw new Problem("attachment_lost", { attachment });
  }

  /** Deletes row and file, whoever refers to it: messages keep the record of what they carried. */
  delete(attachment: string): void {
    this.#ground.db.transact(() => this.#drop(this.#mustFind(attachment)));
  }

  /** After a start: what no row knows was being written, or deleted, when the daemon ended. */
  wakeUp(): void {
    const { files } = this.#needs;
    const names = files.names();
    const known = new Set(names.length > 0 ? rows.files(this.#ground.db) : []);
    for (const name of names) {
      if (OURS.test(name) && !known.has(name)) files.remove(name);
    }
  }

  /** What is past its time goes, a few at a time. */
  beat(now: number): void {
    const { db } = this.#ground;
    const overdue = rows.overdue(db, now, EXPIRE_ROWS_MAX);
    if (overdue.length === 0) return;
    db.transact(() => overdue.forEach((stored) => this.#drop(stored)));
  }

  async #write(part: Part, arrival: { bytes: number }): Promise<Written> {
    if (part.filename === undefined) throw unfit("No file: it has no filename");
    const id = `att-${this.#ground.ids.hex(16)}`;
    const filename = cleanName(part.filename);
    const file = `${id}${extensionOf(filename)}`;
    const hash = createHash("sha256");
    await this.#needs.files.write(file, this.#measured(part.bytes, { arrival, hash }));
    const content_type = cleanType(part.content_type);
    return { id, filename, size: arrival.bytes, content_type, sha256: hash.digest("hex"), file };
  }

  /** The bytes as they come, counted and hashed; too many of them are refused as they come. */
  async *#measured(
    bytes: AsyncIterable<Uint8Array>,
    { arrival, hash }: { arrival: { bytes: number }; hash: { update(chunk: Uint8Array): unknown } },
  ): AsyncGenerator<Uint8Array> {
    const { file_bytes_max, total_bytes_max } = this.#needs.limits;
    const taken = rows.taken(this.#ground.db, blockOf(total_bytes_max));
    for await (const chunk of bytes) {
      arrival.bytes += chunk.length;
      if (arrival.bytes > file_bytes_max) {
        throw new Problem("attachment_too_large", { bytes_max: file_bytes_max });
      }
      const arriving = [...this.#arriving].reduce((sum, { bytes }) => sum + bytes, 0);
      if (taken + arriving > total_bytes_max) throw full(total_bytes_max);
      hash.update(chunk);
      yield chunk;
    }
  }

  async #record(written: Written, arrival: { bytes: number }): Promise<Attachment> {
    const { db, clock } = this.#ground;
    const { ttl_ms, total_bytes_max } = this.#needs.limits;
    const created_at = clock.now();
    const stored: rows.Stored = { ...written, created_at, expires_at: created_at + ttl_ms };
    db.transact((tx) => {
      const block = blockOf(total_bytes_max);
      const size = Math.max(written.size, block);
      if (rows.taken(db, block) + size > total_bytes_max) throw full(total_bytes_max);
      rows.insert(tx, stored);
    });
    arrival.bytes = 0; // From here on it is counted by its row.
    await db.durable();
    return this.#toRecord(stored);
  }

  /** One that is past its time is gone, even while its row waits for a beat. */
  #find(id: string): rows.Stored | undefined {
    const stored = rows.get(this.#ground.db, id);
    return stored && stored.expires_at > this.#ground.clock.now() ? stored : undefined;
  }

  #mustFind(attachment: string): rows.Stored {
    const stored = this.#find(attachment);
    if (!stored) throw new Problem("attachment_not_found", { attachment });
    return stored;
  }

  #toRecord({ file, ...stored }: rows.Stored): Attachment {
    return { ...stored, path: this.#needs.files.pathOf(file) };
  }

  #drop({ id, file }: rows.Stored): void {
    const { db } = this.#ground;
    db.transact((tx) => rows.remove(tx, id));
    db.afterCommit(() => this.#needs.files.remove(file));
  }
}

function blockOf(total_bytes_max: number): number {
  return Math.min(BLOCK_BYTES, Math.ceil(total_bytes_max / BLOCKS_MIN));
}

function full(bytes_max: number): Problem {
  return new Problem("attachments_full", { bytes_max });
}

function unfit(message: string): Problem {
  return invalidRequest(new z.ZodError([{ code: "custom", path: ["file"], message, input: "" }]));
}
