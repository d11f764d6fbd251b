/** Small PNG files (RFC 2083): at most 256 colours, which are rounded for it. */

import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";

const COLOURS_MAX = 256;
/** Steps of a colour channel; the first one with few enough colours is used. */
const STEPS = [8, 16, 32, 64, 128];
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const BIT_DEPTH = 8;
const INDEXED = 3;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Four bytes for each pixel; the last one, its opacity, is not kept. */
  readonly rgba: Uint8Array;
}

export function palettePng(pixels: Pixels): Uint8Array {
  for (const step of STEPS) {
    const { rows, palette } = indexOf(pixels, step);
    if (palette.length > 3 * COLOURS_MAX) continue;
    const header = Buffer.alloc(13);
    header.writeUInt32BE(pixels.width, 0);
    header.writeUInt32BE(pixels.height, 4);
    header.set([BIT_DEPTH, INDEXED], 8);
    return Buffer.concat([
      Buffer.from(SIGNATURE),
      chunk("IHDR", header),
      chunk("PLTE", Buffer.from(palette)),
      chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
      chunk("IEND", Buffer.alloc(0)),
    ]);
  }
  throw new Error("unreachable: eight colours remain");
}

/** Each row begins with the number of its filter, which is none. */
function indexOf({ width, height, rgba }: Pixels, step: number) {
  const rows = new Uint8Array((width + 1) * height);
  const palette: number[] = [];
  const indices = new Map<number, number>();
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 4 * (y * width + x);
      const rounded = (channel: number) =>
        Math.min(255, Math.round((rgba[at + channel] ?? 0) / step) * step);
      const red = rounded(0), green = rounded(1), blue = rounded(2);
      const colour = (red << 16) | (green << 8) | blue;
      let index = indices.get(colour);
      if (index === undefined) {
        index = indices.size;
        indices.set(colour, index);
        palette.push(red, green, blue);
      }
      rows[y * (width + 1) + x + 1] = index;
    }
  }
  return { rows, palette };
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = Buffer.concat([Buffer.from(type), data]);
  const size = Buffer.alloc(4), checksum = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([size, body, checksum]);
}
