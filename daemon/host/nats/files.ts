/** Files in the object store of the bus, in the layout that every NATS client reads. */

import type { JetStreamClient } from "@nats-io/jetstream";
import type { Clock, Ids } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { readUpTo } from "kit/http/body.ts";
import { crypto } from "kit/host/node_library.ts";
import { BusError } from "../bus.ts";
import { libraries, objectStore } from "./libraries.ts";
import { FILE_NAME, FILES } from "./names.ts";
import { apiCodeOf, MESSAGE_NOT_FOUND_CODE } from "./reasons.ts";

const CHUNK_BYTES = 128 << 10;
const ID_BYTES = 8;
/** How long the next bytes of a file may take: the batches of all machines wait meanwhile. */
const STALLED_MS_MAX = 10_000;

export interface FilesDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly daemonId: string;
}

/**
 * Writes by itself, because the client gives each file a random subject. Here the bytes lie below
 * a subject of the machine that put them, which no other one may write. The server keeps them for
 * a week; a new file of the same name replaces the old one.
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
    const { clock, ids, daemonId } = this.#deps;
    const nuid = `${daemonId}.${ids.hex(ID_BYTES)}`;
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
      await this.#client.publish(chunksOf(nuid), bytes.subarray(at, at + CHUNK_BYTES));
    }
    const digest = crypto().createHash("sha256").update(bytes).digest("base64url");
    await this.#writeMeta({
      name,
      bucket: FILES,
      nuid,
      size: bytes.length,
      chunks: Math.ceil(bytes.length / CHUNK_BYTES),
      mtime: new Date(clock.now()).toISOString(),
      digest: `SHA-256=${digest}=`,
      options: { max_chunk_size: CHUNK_BYTES },
    });
  }

  async get(name: string, bytes_max: number): Promise<Uint8Array | null> {
    checkName(name);
    const store = await this.#store();
    try {
      const info = await store.info(name);
      // A link names another file, perhaps itself: the client would follow it for ever.
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

  /** Only the machine that put a file can remove it. */
  async delete(name: string): Promise<void> {
    checkName(name);
    const store = await this.#store();
    try {
      const info = await store.info(name);
      if (info === null || info.deleted) return;
      // A message that replaces all others of its subject takes the place of the bytes.
      await this.#replace(chunksOf(info.nuid), new Uint8Array());
      const { bucket, nuid } = info;
      await this.#writeMeta({ name, bucket, nuid, size: 0, chunks: 0, digest: "", deleted: true });
    } catch (error) {
      if (apiCodeOf(error) !== MESSAGE_NOT_FOUND_CODE) throw error;
    }
  }

  /**
   * The client waits for ever where the bytes that a file's record promises are missing. Its chunks
   * are views into a shared buffer, of a type of Node's.
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

  async #writeMeta(meta: { readonly name: string } & Record<string, unknown>): Promise<void> {
    const { Base64UrlPaddedCodec } = await objectStore();
    const subject = `$O.${FILES}.M.${Base64UrlPaddedCodec.encode(meta.name)}`;
    await this.#replace(subject, new TextEncoder().encode(JSON.stringify(meta)));
  }

  async #replace(subject: string, bytes: Uint8Array): Promise<void> {
    const { jetstream, transport } = await libraries();
    const headers = transport.headers();
    headers.set(jetstream.JsHeaders.RollupHdr, jetstream.JsHeaders.RollupValueSubject);
    await this.#client.publish(subject, bytes, { headers });
  }

  async #store() {
    const { Objm } = await objectStore();
    return await new Objm(this.#client).open(FILES, false);
  }
}

function chunksOf(nuid: string): string {
  return `$O.${FILES}.C.${nuid}`;
}

function tooLarge(name: string, bytes_max: number): BusError {
  return new BusError("too_large", `The file ${name} is larger than ${bytes_max} bytes`, "no");
}

function checkName(name: string): void {
  if (FILE_NAME.test(name)) return;
  throw new BusError("failed", `Not a name of a file: "${name}"`, "no");
}
