/** Draws the icon of `dashboard/styles/icon.svg` as PNG files, for devices that want pixels. */

import { Buffer } from "node:buffer";
import { deflateSync } from "node:zlib";
import { ICON_LEVELS, palette, pngChunk } from "../../dashboard/files/machine_icon.ts";

type Point = readonly [x: number, y: number];

/** The measures of the SVG: a field of 32 by 32. */
const FIELD = 32, CORNER = 7, STROKE = 2, DOT = 3.4;
const CORNERS: readonly Point[] = [[16, 9], [8, 22], [24, 22]];
/** Samples along one side of a pixel. */
const SAMPLES = 4;

/**
 * The icon as base64 of a PNG file whose palette is set for each machine. A maskable icon fills its
 * square, and its mark stays within the circle that no device cuts off.
 */
export function renderIcon(size: number, { maskable = false } = {}): string {
  const scale = maskable ? FIELD * 1.25 : FIELD;
  const offset = (FIELD - scale) / 2;
  const pixels = Buffer.alloc(size * (size + 1));
  let at = 0;
  for (let y = 0; y < size; y++) {
    at++; // The filter of the row: none.
    for (let x = 0; x < size; x++) {
      pixels[at++] = levelOf((sampled) => offset + sampled / size * scale, [x, y], maskable);
    }
  }
  return `${png(size, pixels).toString("base64")}\n`;
}

/** The palette's entry of a pixel: the share of the mark, or of the tile at the tile's edge. */
function levelOf(toField: (value: number) => number, [x, y]: Point, full: boolean): number {
  const samples = SAMPLES * SAMPLES;
  let marked = 0, covered = 0;
  for (let sample = 0; sample < samples; sample++) {
    const dx = (sample % SAMPLES + 0.5) / SAMPLES;
    const dy = (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES;
    const point: Point = [toField(x + dx), toField(y + dy)];
    if (isMark(point)) marked++;
    if (full || isInside(point)) covered++;
  }
  const levelOf = (count: number) => Math.round(count / samples * (ICON_LEVELS - 1));
  return covered < samples ? ICON_LEVELS + levelOf(covered) : levelOf(marked);
}

function isMark(point: Point): boolean {
  const sides = CORNERS.map((from, at) => distance(point, from, CORNERS[(at + 1) % 3] ?? from));
  const isDot = CORNERS.some((corner) => distance(point, corner, corner) <= DOT);
  return isDot || Math.min(...sides) <= STROKE / 2;
}

/** True if a point lies in the square with rounded corners. */
function isInside([x, y]: Point): boolean {
  const near = (value: number) => Math.max(CORNER, Math.min(FIELD - CORNER, value));
  return Math.hypot(x - near(x), y - near(y)) <= CORNER;
}

/** The distance of a point to the line between two others. */
function distance([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((x - ax) * dx + (y - ay) * dy) / length;
  const part = Math.max(0, Math.min(1, along));
  return Math.hypot(x - ax - part * dx, y - ay - part * dy);
}

function png(size: number, pixels: Buffer): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 3, 0, 0, 0], 8); // 8 bits: an entry of the palette.
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  // The entries of the tile's edge, which is transparent outside.
  const alphas = Buffer.from(
    Array.from(
      { length: 2 * ICON_LEVELS },
      (_, entry) =>
        entry < ICON_LEVELS ? 255 : Math.round((entry - ICON_LEVELS) / (ICON_LEVELS - 1) * 255),
    ),
  );
  return Buffer.concat([
    signature,
    pngChunk("IHDR", header),
    palette("#5fd3a6"),
    pngChunk("tRNS", alphas),
    pngChunk("IDAT", deflateSync(pixels, { level: 9 })),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}
