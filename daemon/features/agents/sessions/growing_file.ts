/** Reads the new lines of a file that grows, from the position where the last reading ended. */

import { readBefore } from "../../../host/agent_files.ts";

/** Number of bytes that are read of a file. The first part of a longer file is left out. */
const BYTES_MAX = 134_217_728;
const CHUNK_BYTES = 1_048_576;
/** A longer line is skipped. */
const LINE_BYTES_MAX = 16_777_216;
/** Number of bytes before a position that are compared. */
const PROBE_BYTES = 256;
export const NEWLINE = 10;

export interface FilePosition {
  /** The position up to which the file was read: the start of a line. */
  at: number;
  /** A hash of the last bytes before `at`. A difference shows that the file was replaced. */
  before: number;
}

/**
 * The position from which to read on, and the file's size. A file that was replaced is read again
 * from its beginning.
 */
export function continued(
  file: string,
  known: Readonly<FilePosition> | undefined,
): { at: number; size: number; isKnown: boolean } {
  const last = readBefore(file, Infinity, 1);
  const size = last ? last.from + last.bytes.length : 0;
  const isKnown = known !== undefined && known.at <= size && known.before === probe(file, known.at);
  return { at: isKnown ? known.at : Math.max(0, size - BYTES_MAX), size, isKnown };
}

/** A hash of the last bytes before a position. */
export function probe(file: string, at: number): number {
  const part = at > 0 ? readBefore(file, at, PROBE_BYTES) : undefined;
  return hashOf(part ? new TextDecoder().decode(part.bytes) : "");
}

/**
 * The unread parts of a file, each with at least one whole line, or a part of a line that is too
 * long. The reader moves `position.at` behind the lines that it has read.
 */
export function* newBytes(
  file: string,
  position: Readonly<Pick<FilePosition, "at">>,
  size: number,
): Generator<Uint8Array> {
  let length = CHUNK_BYTES;
  while (position.at < size) {
    const end = Math.min(size, position.at + length);
    const bytes = readBefore(file, end, end - position.at)?.bytes;
    if (!bytes || bytes.length === 0) return;
    const hasLine = bytes.includes(NEWLINE);
    if (!hasLine && end === size) return; // The agent is writing this line.
    if (!hasLine && length < LINE_BYTES_MAX) {
      length *= 2;
      continue;
    }
    length = CHUNK_BYTES;
    yield bytes;
  }
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
