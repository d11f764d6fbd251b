/** The page and its files in the parts: compressed at the build, and read when they are sent. */

import type { Coding } from "kit/http/encoding.ts";
import type { StoredFile } from "./stored_file.ts";

/** Files as base64, by their paths. */
export type Pack = Readonly<Record<string, string>>;

/** `packs`: a module for each coding, so that a daemon holds only those that browsers ask for. */
export interface PackedFiles {
  readonly files: Readonly<Record<string, Omit<StoredFile, "read">>>;
  readonly packs: Readonly<Record<Coding, () => Promise<{ readonly default: Pack }>>>;
}

export function unpack({ files, packs }: PackedFiles): (path: string) => StoredFile | undefined {
  const read = async (path: string, coding: Coding) => {
    const text = (await packs[coding]()).default[path];
    return text === undefined ? undefined : Uint8Array.fromBase64(text);
  };
  return (path) => {
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    if (!file) return undefined;
    return {
      ...file,
      async read(coding) {
        const found = await read(path, coding);
        if (found) return found;
        const packed = await read(path, "gzip") ?? new Uint8Array();
        const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
        return await new Response(stream).bytes();
      },
    };
  };
}
