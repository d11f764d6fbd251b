/**
 * The page and its files, compressed when they are first sent. `deno task parts` replaces this
 * module by one whose files are compressed already (`packaging/page_files.ts`).
 */

import type { Coding } from "kit/http/encoding.ts";
import { ASSETS, type Content, digestOf, MANIFEST, SCRIPT_TYPE, WORKER } from "./files.ts";
import { PAGE } from "./page.ts";
import type { StoredFile } from "./stored_file.ts";

/** Brotli's quality 11, which the parts have, takes ten times as long for 6 % fewer bytes. */
const BROTLI_QUALITY = 9;

const FILES: ReadonlyMap<string, StoredFile> = new Map([
  ["page", stored("text/html; charset=utf-8", PAGE)],
  ["manifest.webmanifest", stored("application/manifest+json", MANIFEST)],
  ["worker.js", stored(SCRIPT_TYPE, WORKER)],
  ...ASSETS.map(({ name, type, content }) => [`assets/${name}`, stored(type, content)] as const),
]);

/** The paths of all files: `page`, or relative to the folder of the page. */
export const PATHS = [...FILES.keys()];

export function storedFile(path: string): StoredFile | undefined {
  return FILES.get(path);
}

function stored(type: string, content: Content): StoredFile {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const sent = new Map<Coding, Promise<Uint8Array<ArrayBuffer>>>();
  return {
    type,
    digest: digestOf(content),
    codings: typeof content === "string" ? ["br", "gzip"] : [],
    read: (coding) => sent.getOrInsertComputed(coding, () => compress(bytes, coding)),
  };
}

/** Compresses a file; with Brotli's best quality if it is for the parts. */
export async function compress(
  bytes: Uint8Array<ArrayBuffer>,
  coding: Coding,
  quality = BROTLI_QUALITY,
): Promise<Uint8Array<ArrayBuffer>> {
  if (coding === "identity") return bytes;
  const { brotliCompressSync, constants, gzipSync } = await import("node:zlib");
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
