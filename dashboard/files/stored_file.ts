/** A file of the page in the codings in which it is sent. */

import { createHash } from "node:crypto";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Coding } from "kit/http/encoding.ts";

export type Content = string | Uint8Array<ArrayBuffer>;

export interface StoredFile {
  readonly type: string;
  /** A digest of the content. */
  readonly digest: string;
  /** The codings besides `identity`; a picture has none, because it is compressed itself. */
  readonly codings: readonly Coding[];
  read(coding: Coding): Promise<Uint8Array<ArrayBuffer>>;
}

/** Brotli's quality 11, which the parts have, takes ten times as long for 6 % fewer bytes. */
const BROTLI_QUALITY = 9;

/** Characters of the digest in a name: enough that two builds never share a name. */
const HASH_CHARS = 16;

/** A file that is compressed when it is first sent. */
export function storedBytes(type: string, content: Content): StoredFile {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const sent = new Map<Coding, Promise<Uint8Array<ArrayBuffer>>>();
  return {
    type,
    digest: digestOf(content),
    codings: typeof content === "string" ? ["br", "gzip"] : [],
    read: (coding) =>
      sent.getOrInsertComputed(coding, () => Promise.resolve(compress(bytes, coding))),
  };
}

export function digestOf(content: Content): string {
  return createHash("sha256").update(content).digest("hex").slice(0, HASH_CHARS);
}

/** Compresses a file; with Brotli's best quality if it is for the parts. */
export function compress(
  bytes: Uint8Array<ArrayBuffer>,
  coding: Coding,
  quality = BROTLI_QUALITY,
): Uint8Array<ArrayBuffer> {
  if (coding === "identity") return bytes;
  return new Uint8Array(
    coding === "gzip"
      ? gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION })
      : brotliCompressSync(bytes, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: quality,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        },
      }),
  );
}
