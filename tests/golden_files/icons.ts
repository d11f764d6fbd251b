/** Draws the icon of `dashboard/styles/icon.svg` as PNG files, for devices that want pixels. */

import { Buffer } from "node:buffer";
import { crc32, deflateSync } from "node:zlib";

type Colour = readonly [red: number, green: number, blue: number, alpha: number];
type Point = readonly [x: number, y: number];

/** The measures of the SVG: a field of 32 by 32. */
const FIELD = 32, CORNER = 7, STROKE = 2, DOT = 3.4;
const CORNERS: readonly Point[] = [[16, 9], [8, 22], [24, 22]];
const BACKGROUND: Colour = [0x10, 0x18, 0x20, 255];
const MARK: Colour = [0x5f, 0xd3, 0xa6, 255];
const NOTHING: Colour = [0, 0, 0, 0];
/** Samples along one side of a pixel. */
const SAMPLES = 4;

/**
 * The icon as base64 of a PNG file. A maskable icon fills its square, and its mark stays within the
 * circle that no device cuts off.
 */
export function renderIcon(size: number, { maskable = false } = {}): string {
  const scale = maskable ? FIELD * 1.25 : FIELD;
  const offset = (FIELD - scale) / 2;
  const pixels = Buffer.alloc(size * (size * 4 + 1));
  let at = 0;
  for (let y = 0; y < size; y++) {
    at++; // The filter of the row: none.
    for (let x = 0; x < size; x++) {
      const colour = pixelOf((sampled) => offset + sampled / size * scale, [x, y], maskable);
      for (const value of colour) pixels[at++] = value;
    }
  }
  return `${png(size, pixels).toString("base64")}\n`;
}

/** The mean of a pixel's samples; a colour counts by its alpha. */
function pixelOf(toField: (value: number) => number, [x, y]: Point, full: boolean): number[] {
  let [red, green, blue, alpha] = [0, 0, 0, 0];
  for (let sample = 0; sample < SAMPLES * SAMPLES; sample++) {
    const dx = (sample % SAMPLES + 0.5) / SAMPLES;
    const dy = (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES;
    const [r, g, b, a] = colourAt([toField(x + dx), toField(y + dy)], full);
    [red, green, blue, alpha] = [red + r * a, green + g * a, blue + b * a, alpha + a];
  }
  if (alpha === 0) return [0, 0, 0, 0];
  return [red / alpha, green / alpha, blue / alpha, alpha / (SAMPLES * SAMPLES)].map(Math.round);
}

function colourAt(point: Point, full: boolean): Colour {
  const sides = CORNERS.map((from, at) => distance(point, from, CORNERS[(at + 1) % 3] ?? from));
  const isDot = CORNERS.some((corner) => distance(point, corner, corner) <= DOT);
  if (isDot || Math.min(...sides) <= STROKE / 2) return MARK;
  return full || isInside(point) ? BACKGROUND : NOTHING;
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
  header.set([8, 6, 0, 0, 0], 8); // 8 bits for each of red, green, blue and alpha.
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = deflateSync(pixels, { level: 9 });
  const parts = [chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...parts]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
