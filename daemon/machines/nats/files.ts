/** Files of machines, stored as messages whose subjects only the owning machine may write. */

import type { JetStreamClient } from "@nats-io/jetstream";
import * as z from "zod";
import type { Context } from "../../data/context.ts";
import { tryJson } from "kit/core/text.ts";
import { timeout } from "kit/core/timeout.ts";
import { readUpTo } from "kit/http/body.ts";
import { sha256 } from "kit/host/node_library.ts";
import { BusError } from "../bus.ts";
import { objectStore } from "./libraries.ts";
import { FILE_NAME, FILES } from "./names.ts";
import { apiCodeOf, MESSAGE_NOT_FOUND_CODE } from "./reasons.ts";

const CHUNK_BYTES = 256 << 10;
/** Maximum number of parts of a file that are in transit at a time. */
const AHEAD_MAX = 4;
const ID_BYTES = 8;
/** Maximum time between two bytes of a file: the batches of all machines wait meanwhile. */
const STALLED_MS_MAX = 10_000;

/** The message on a file's own subject. If the message is empty, the file was deleted. */
const FileRecord = z.object({
  /** Part of the subjects that hold the bytes. */
  id: z.string().regex(/^[0-9a-f]{16}$/),
  size: z.number().int().nonnegative(),
  chunks: z.number().int().nonnegative(),
  /** SHA-256, in base64url. */
  digest: z.string(),
});
type FileRecord = z.output<typeof FileRecord>;

interface FilesDeps extends Pick<Context, "clock" | "ids"> {
  readonly daemonId: string;
}

/**
 * The file `dm-….NAME` has a record on the subject `$O.mesh_files.C.dm-….NAME` and its bytes on
 * `$O.mesh_files.C.dm-….ID-0`, `-1` and so on. The stream keeps the last message of each subject,
 * so that empty messages free the room of a file, and no member needs a permission that removes
 * messages. The server keeps a file for a week; a new file of the same name replaces it.
 *
 * Up to version 1.0, files were objects of a NATS object store, whose list of names every machine
 * may write. They are read as well, and a file of one part is also listed there for old machines.
 */
export class BusFiles {
  readonly #client: JetStreamClient;
  readonly #deps: FilesDeps;

  constructor(client: JetStreamClient, deps: FilesDeps) {
    this.#client = client;
    this.#deps = deps;
  }

  async put(name: string, bytes: Uint8Array): Promise<void> {
    checkName(name);
    const { ids, daemonId } = this.#deps;
    const id = ids.hex(ID_BYTES);
    const chunks = Math.ceil(bytes.length / CHUNK_BYTES);
    for (let chunk = 0; chunk < chunks; chunk++) {
      const at = chunk * CHUNK_BYTES;
      const part = bytes.subarray(at, at + CHUNK_BYTES);
      await this.#client.publish(chunkSubject(daemonId, id, chunk), part);
    }
    const record = { id, size: bytes.length, chunks, digest: sha256(bytes, "base64url") };
    await this.#publish(recordSubject(name), record);
    if (chunks <= 1) await this.#list(name, record);
  }

  async get(name: string, bytes_max: number): Promise<Uint8Array | null> {
    checkName(name);
    const record = await this.#record(name);
    if (record === "none") return await this.#getObject(name, bytes_max);
    if (record === "deleted") return null;
    const { id, size, chunks, digest } = record;
    if (size > bytes_max) throw tooLarge(name, bytes_max);
    const bytes = new Uint8Array(size);
    let written = 0;
    for (let first = 0; first < chunks; first += AHEAD_MAX) {
      const numbers = Array.from(
        { length: Math.min(AHEAD_MAX, chunks - first) },
        (_, n) => first + n,
      );
      const subjects = numbers.map((chunk) => chunkSubject(ownerOf(name), id, chunk));
      const reading = subjects.map((subject) => this.#last(subject));
      const parts = await this.#inTime(name, Promise.all(reading));
      for (const part of parts) {
        if (part === null || written + part.length > size) throw toDamagedError(name);
        bytes.set(part, written);
        written += part.length;
      }
    }
    if (written !== size || sha256(bytes, "base64url") !== digest) throw toDamagedError(name);
    return bytes;
  }

  /** Only the machine that stored a file can delete it. */
  async delete(name: string): Promise<void> {
    checkName(name);
    const record = await this.#record(name);
    if (typeof record === "string") return;
    const { id, chunks } = record;
    await this.#client.publish(recordSubject(name), new Uint8Array());
    for (let chunk = 0; chunk < chunks; chunk++) {
      await this.#client.publish(chunkSubject(ownerOf(name), id, chunk), new Uint8Array());
    }
    if (chunks <= 1) await this.#list(name, { ...record, size: 0, chunks: 0, deleted: true });
  }

  async #record(name: string): Promise<FileRecord | "none" | "deleted"> {
    const stored = await this.#last(recordSubject(name));
    if (stored === null) return "none";
    if (stored.length === 0) return "deleted";
    const record = FileRecord.safeParse(tryJson(new TextDecoder().decode(stored)));
    if (!record.success || record.data.chunks !== Math.ceil(record.data.size / CHUNK_BYTES)) {
      throw toDamagedError(name);
    }
    return record.data;
  }

  /** The last message of a subject; null if the subject has no message. */
  async #last(last_by_subj: string): Promise<Uint8Array | null> {
    const { streams } = await this.#client.jetstreamManager(false);
    return (await streams.getMessage(`OBJ_${FILES}`, { last_by_subj }))?.data ?? null;
  }

  async #publish(subject: string, content: object): Promise<void> {
    await this.#client.publish(subject, new TextEncoder().encode(JSON.stringify(content)));
  }

  /** Adds the file to the list of the object store. */
  async #list(
    name: string,
    { id, digest, ...more }: FileRecord & { readonly deleted?: true },
  ): Promise<void> {
    const { Base64UrlPaddedCodec } = await objectStore();
    await this.#publish(`$O.${FILES}.M.${Base64UrlPaddedCodec.encode(name)}`, {
      ...more,
      name,
      bucket: FILES,
      nuid: `${ownerOf(name)}.${id}-0`,
      mtime: new Date(this.#deps.clock.now()).toISOString(),
      digest: `SHA-256=${digest}=`,
      options: { max_chunk_size: CHUNK_BYTES },
    });
  }

  /** Reads a file that a machine of an earlier version stored. */
  async #getObject(name: string, bytes_max: number): Promise<Uint8Array | null> {
    const { Objm } = await objectStore();
    const store = await new Objm(this.#client).open(FILES, false);
    try {
      const info = await store.info(name);
      // A link names another file, perhaps itself: the client would never stop following it.
      if (info === null || info.deleted || info.options?.link) return null;
      if (info.size > bytes_max) throw tooLarge(name, bytes_max);
      const found = await this.#inTime(name, store.get(name));
      if (found === null) return null;
      // The sender wrote the size, so that it is counted again.
      const bytes = await readUpTo(this.#chunks(name, found.data), bytes_max);
      if (!bytes) throw tooLarge(name, bytes_max);
      const failure = await found.error;
      if (failure) throw failure;
      return bytes;
    } catch (error) {
      if (apiCodeOf(error) === MESSAGE_NOT_FOUND_CODE) return null;
      throw error;
    }
  }

  /**
   * The client waits for ever if bytes of a file are missing. Its chunks are views into a shared
   * buffer, of a type of Node's.
   */
  async *#chunks(name: string, data: ReadableStream<Uint8Array>) {
    const reader = data.getReader();
    try {
      for (;;) {
        const { done, value } = await this.#inTime(name, reader.read());
        if (done) return;
        yield Uint8Array.from(value);
      }
    } finally {
      await reader.cancel();
    }
  }

  async #inTime<T>(name: string, work: Promise<T>): Promise<T> {
    const done = work.then((value) => ({ value }));
    const result = await timeout(this.#deps.clock, STALLED_MS_MAX, done);
    if (result) return result.value;
    throw new BusError("failed", `The bytes of the file ${name} do not come`, "no");
  }
}

function recordSubject(name: string): string {
  return `$O.${FILES}.C.${name}`;
}

function chunkSubject(owner: string, id: string, chunk: number): string {
  return `$O.${FILES}.C.${owner}.${id}-${chunk}`;
}

function ownerOf(name: string): string {
  return name.slice(0, name.indexOf("."));
}

function toDamagedError(name: string): BusError {
  return new BusError("failed", `The bytes of the file ${name} differ from the stored bytes`, "no");
}

function tooLarge(name: string, bytes_max: number): BusError {
  return new BusError("too_large", `The file ${name} is larger than ${bytes_max} bytes`, "no");
}

function checkName(name: string): void {
  if (FILE_NAME.test(name)) return;
  throw new BusError("failed", `Not a name of a file: "${name}"`, "no");
}
