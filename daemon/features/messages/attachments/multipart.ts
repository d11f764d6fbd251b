/** Reads multipart/form-data (RFC 7578) as a stream: no part is held in memory as a whole. */

import { Refusal } from "kit/core/problem.ts";
import { Problem } from "protocol/problems.ts";

const HEADER_BYTES_MAX = 8192;
const PARTS_MAX = 32;
const [CR, LF] = [13, 10];

/** One field of a form. Bytes that are not read are skipped when the next part is requested. */
export interface Part {
  readonly name: string;
  /** Undefined if the field is not a file. */
  readonly filename: string | undefined;
  readonly content_type: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The boundary in a Content-Type header; undefined if the type is not multipart/form-data. */
export function boundaryOf(content_type: string): string | undefined {
  const found = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
    .exec(content_type);
  return found?.[1] ?? found?.[2];
}

/**
 * The parts of a form, in order. Throws `bad_multipart` if the body is malformed or ends early.
 * Leaving the loop early cancels the body.
 */
export async function* partsOf(
  body: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<Part, void, undefined> {
  const chunks = body[Symbol.asyncIterator]();
  const reader = new PartReader(chunks);
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  try {
    await discard(reader.readUntil(delimiter)); // The preamble has no meaning (RFC 2046, 5.1.1).
    for (let count = 0; !await reader.isLast(); count++) {
      if (count === PARTS_MAX) throw badMultipart(`more than ${PARTS_MAX} parts`);
      const headers = await readHeaders(reader);
      const bytes = reader.readUntil(delimiter);
      yield { ...toPart(headers), bytes };
      await discard(bytes);
    }
  } finally {
    await chunks.return?.();
  }
}

/** Reads the rest of the bytes and ignores them. */
async function discard(bytes: AsyncGenerator<Uint8Array>): Promise<void> {
  while (!(await bytes.next()).done);
}

function badMultipart(reason: string, cause?: unknown): Problem {
  return new Problem("bad_multipart", { reason }, cause);
}

/** Reads chunks, and buffers at most one of them and a delimiter or the start of a header line. */
class PartReader {
  readonly #chunks: AsyncIterator<Uint8Array>;
  /** Begins with a line end, as a delimiter does: the first boundary of a form may have none. */
  #buffer: Uint8Array = Uint8Array.of(CR, LF);
  /** The memory of `#buffer` once chunks were joined, with spare room to append the next chunk. */
  #storage = new Uint8Array(0);

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Yields everything before the delimiter, and consumes the delimiter. */
  async *readUntil(delimiter: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const at = find(this.#buffer, delimiter);
      const before = this.#buffer.subarray(0, at ?? partialMatchAt(this.#buffer, delimiter));
      this.#buffer = this.#buffer.subarray(
        before.length + (at === undefined ? 0 : delimiter.length),
      );
      if (before.length > 0) yield before;
      if (at !== undefined) return;
      await this.#readMore();
    }
  }

  /** True if two hyphens after the boundary end the form; a line end begins the next part. */
  async isLast(): Promise<boolean> {
    while (this.#buffer.length < 2) await this.#readMore();
    if (this.#buffer[0] === 45 && this.#buffer[1] === 45) return true;
    const lineRest = await this.readLine(HEADER_BYTES_MAX);
    if (lineRest.trim() !== "") throw badMultipart("text after a boundary");
    return false;
  }

  /** The next line, without its line end. */
  async readLine(bytes_max: number): Promise<string> {
    for (let from = 0;;) {
      const at = find(this.#buffer, Uint8Array.of(CR, LF), from);
      if ((at ?? this.#buffer.length) > bytes_max) {
        throw badMultipart(`headers of more than ${HEADER_BYTES_MAX} bytes`);
      }
      if (at !== undefined) {
        const line = new TextDecoder().decode(this.#buffer.subarray(0, at));
        this.#buffer = this.#buffer.subarray(at + 2);
        return line;
      }
      from = Math.max(0, this.#buffer.length - 1); // Continue where the search ended.
      await this.#readMore();
    }
  }

  async #readMore(): Promise<void> {
    const next = await this.#next();
    if (next.done) throw badMultipart("it ends early");
    if (this.#buffer.length === 0) return void (this.#buffer = next.value);
    const { length, byteOffset: begin } = this.#buffer;
    const totalLength = length + next.value.length;
    if (
      this.#buffer.buffer !== this.#storage.buffer || begin + totalLength > this.#storage.length
    ) {
      this.#storage = new Uint8Array(totalLength + Math.min(totalLength, HEADER_BYTES_MAX));
      this.#storage.set(this.#buffer);
      this.#buffer = this.#storage.subarray(0, length);
    }
    const { byteOffset: from } = this.#buffer;
    this.#storage.set(next.value, from + length);
    this.#buffer = this.#storage.subarray(from, from + totalLength);
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    try {
      return await this.#chunks.next();
    } catch (error) {
      if (error instanceof Refusal) throw error;
      throw badMultipart("it ends early", error); // The caller closed the connection.
    }
  }
}

function find(buffer: Uint8Array, needle: Uint8Array, from = 0): number | undefined {
  for (let at = buffer.indexOf(CR, from); at >= 0; at = buffer.indexOf(CR, at + 1)) {
    if (at + needle.length > buffer.length) return undefined;
    if (needle.every((byte, offset) => buffer[at + offset] === byte)) return at;
  }
  return undefined;
}

/** Where a delimiter may begin that the next chunk completes; otherwise the buffer's length. */
function partialMatchAt(buffer: Uint8Array, needle: Uint8Array): number {
  let at = buffer.indexOf(CR, Math.max(0, buffer.length - needle.length + 1));
  while (at >= 0 && !buffer.subarray(at).every((byte, offset) => byte === needle[offset])) {
    at = buffer.indexOf(CR, at + 1);
  }
  return at < 0 ? buffer.length : at;
}

async function readHeaders(reader: PartReader): Promise<Map<string, string>> {
  const headers = new Map<string, string>();
  let bytesLeft = HEADER_BYTES_MAX;
  for (
    let line = await reader.readLine(bytesLeft);
    line !== "";
    line = await reader.readLine(bytesLeft)
  ) {
    bytesLeft -= line.length;
    const colon = line.indexOf(":");
    if (colon < 1 || bytesLeft < 0) throw badMultipart("a malformed header");
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

function toPart(headers: ReadonlyMap<string, string>): Omit<Part, "bytes"> {
  const disposition = headers.get("content-disposition") ?? "";
  const name = parameter(disposition, "name");
  if (!/^form-data\s*;/i.test(disposition) || name === undefined) {
    throw badMultipart("a part without a name");
  }
  return {
    name,
    filename: parameter(disposition, "filename"),
    content_type: headers.get("content-type") ?? "text/plain",
  };
}

/** One parameter, matched from the left: a quoted value may contain text like a parameter. */
const PARAMETER = /;\s*(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g;

/** A parameter's value, unescaped: browsers write %22, %0D and %0A; other clients write `\"`. */
function parameter(disposition: string, name: string): string | undefined {
  const found = disposition.matchAll(PARAMETER).find(([, key]) => key?.toLowerCase() === name);
  const value = found?.[2]?.replaceAll('\\"', '"') ?? found?.[3];
  return value?.replaceAll(/%(?:22|0d|0a)/gi, (code) => decodeURIComponent(code));
}
