/** Reads the new lines of a file that grows, from the position where the last reading ended. */

import { readFrom } from "../../../host/agent_files.ts";
import type { Line } from "./lines.ts";

/** Number of bytes that are read of a file. The first part of a longer file is left out. */
const BYTES_MAX = 134_217_728;
const CHUNK_BYTES = 1_048_576;
/** A longer line is skipped. */
const LINE_BYTES_MAX = 16_777_216;
/** Number of bytes before a position that are compared. */
const PROBE_BYTES = 256;
const NEWLINE = 10;

export interface FilePosition {
  /** The position up to which the file was read: the start of a line. */
  readonly at: number;
  /** A hash of the last bytes before `at`. A difference shows that the file was replaced. */
  readonly before: number;
}

/** New lines of a file, and the position behind them. */
export interface NewLines {
  readonly lines: readonly Line[];
  /** The position of the first line. */
  readonly from: number;
  readonly position: FilePosition;
  /** False for the first lines of a file that was not read before, or that was replaced. */
  readonly isContinued: boolean;
}

/**
 * Reads the lines behind a position, in parts. A file that was replaced is read again from its
 * beginning. A part takes one open, and new lines up to `CHUNK_BYTES` are one part.
 */
export function* newLines(
  file: string,
  known: FilePosition | undefined,
): Generator<NewLines, void, undefined> {
  let position: FilePosition | undefined = known;
  let isContinued = known !== undefined;
  let length = CHUNK_BYTES;
  for (;;) {
    const at: number = position?.at ?? 0;
    const probe_at = Math.max(0, at - PROBE_BYTES);
    const part = readFrom(file, probe_at, at - probe_at + length);
    if (!part) return;
    const { bytes, size } = part;
    const probed = at - probe_at;
    if (position && hashOfBytes(bytes.subarray(0, probed)) !== position.before) {
      position = undefined;
      isContinued = false;
      continue;
    }
    if (!position && size > BYTES_MAX) {
      position = positionAt(file, size - BYTES_MAX);
      continue;
    }
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    const isWhole = probe_at + bytes.length >= size;
    const hasLine = end > probed;
    if (!hasLine && isWhole) {
      if (known && !isContinued) yield { lines: [], from: 0, position: START, isContinued };
      return; // The agent is writing this line.
    }
    if (!hasLine && length < LINE_BYTES_MAX) {
      length *= 2;
      continue;
    }
    length = CHUNK_BYTES;
    const read: number = hasLine ? end : bytes.length;
    const probe = bytes.subarray(Math.max(0, read - PROBE_BYTES), read);
    position = { at: probe_at + read, before: hashOfBytes(probe) };
    const lines = linesIn(bytes, probed, end, probe_at);
    yield { lines, from: at, position, isContinued };
    if (isWhole) return;
    isContinued = true;
  }
}

/** The whole lines between two places in bytes that begin at a position of the file. */
function linesIn(bytes: Uint8Array, from: number, to: number, bytes_at: number): Line[] {
  const decoder = new TextDecoder();
  const lines: Line[] = [];
  for (let start = from; start < to;) {
    const newline = bytes.indexOf(NEWLINE, start);
    const text = decoder.decode(bytes.subarray(start, newline));
    if (text !== "") lines.push({ end: bytes_at + newline, text });
    start = newline + 1;
  }
  return lines;
}

function positionAt(file: string, at: number): FilePosition {
  const probe_at = Math.max(0, at - PROBE_BYTES);
  const probe = readFrom(file, probe_at, at - probe_at)?.bytes ?? new Uint8Array();
  return { at, before: hashOfBytes(probe) };
}

function hashOfBytes(bytes: Uint8Array): number {
  return hashOf(new TextDecoder().decode(bytes));
}

/** A hash of 53 bits, the most that a number holds (cyrb53). */
export function hashOf(text: string): number {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return 4294967296 * (2097151 & b) + (a >>> 0);
}

/** The beginning of a file. */
const START: FilePosition = { at: 0, before: hashOf("") };
