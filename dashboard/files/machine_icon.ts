/** The icon of a machine: the page's icon with its tile in the machine's own colour. */

import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import type { StoredFile } from "./stored_file.ts";
import { storedBytes } from "./stored_file.ts";

/** The tile's colour in `dashboard/styles/icon.svg`. */
const TILE = "#5fd3a6";
const MARK = "#101820";
/** The palette's entries between the tile and the mark, and between nothing and the tile. */
export const ICON_LEVELS = 17;

/**
 * The tiles' colours: each is far from the others, has a contrast of at least 7 to the mark, and is
 * no red, which stands for a failure.
 */
export const COLOURS = [
  TILE,
  "#7cb7ff",
  "#f0c05a",
  "#c79bff",
  "#5fd5e8",
  "#ff9fd6",
  "#b5dc5a",
  "#ffab73",
  "#9fb0c0",
  "#e9e0c8",
  "#a3a8ff",
  "#e08bf0",
] as const;

const NAME = /^(icon[a-z0-9-]*\.[0-9a-f]{16})\.(\d{1,2})\.(svg|png)$/;
/** The palette follows the signature and the header. */
const PALETTE_AT = 33;

/** The name of an icon's file, and the index of its colour; undefined for another file. */
export function parseIconName(name: string): { file: string; colour: string } | undefined {
  const [, base, index, extension] = NAME.exec(name) ?? [];
  const colour = COLOURS[Number(index)];
  return colour && { file: `${base}.${extension}`, colour };
}

/** A copy of the icon in a colour. */
export async function paint(icon: StoredFile, colour: string): Promise<StoredFile> {
  const bytes = await icon.read("identity");
  if (icon.type === "image/svg+xml") {
    return storedBytes(icon.type, new TextDecoder().decode(bytes).replaceAll(TILE, colour));
  }
  const painted = new Uint8Array(bytes);
  painted.set(palette(colour), PALETTE_AT);
  return storedBytes(icon.type, painted);
}

/** The palette of a PNG icon: from the tile to the mark, then the tile for its edge. */
export function palette(colour: string): Buffer {
  const [tile, mark] = [channelsOf(colour), channelsOf(MARK)];
  const blends = Array.from({ length: ICON_LEVELS }, (_, level) =>
    tile.map((from, at) => {
      const to = mark[at] ?? 0;
      return Math.round(from + (to - from) * level / (ICON_LEVELS - 1));
    }));
  const edge = Array.from({ length: ICON_LEVELS }, () => tile);
  return pngChunk("PLTE", Buffer.from([...blends, ...edge].flat()));
}

export function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

export function channelsOf(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}
