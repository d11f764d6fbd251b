/** Reads multipart/form-data as it comes (RFC 7578): no part of it is ever held whole. */

import { Problem } from "kit/core/problem.ts";

const HEADER_BYTES_MAX = 8192;
const PARTS_MAX = 32;
const [CR, LF] = [13, 10];

/** One field of a form. Its bytes must be read, or skipped, before the next part is asked for. */
export interface Part {
  readonly name: string;
  /** Absent from a field that is no file. */
  readonly filename: string | undefined;
  readonly content_type: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** The boundary that a Content-Type names; undefined when it is no form. */
export function boundaryOf(content_type: string): string | undefined {
  const found = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i
    .exec(content_type);
  return found?.[1] ?? found?.[2];
}

/**
 * The parts of a form, in order. Throws `bad_multipart` where it is none, or is cut short. Leaving
 * early lets go of the body.
 */
export async function* partsOf(
  body: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<Part, void, undefined> {
  const chunks = body[Symbol.asyncIterator]();
  const feed = new Feed(chunks);
  const delimiter = new TextEncoder().encode(`\r\n--${boundary}`);
  try {
    await skip(feed.until(delimiter)); // What stands before the first boundary is for nobody.
    for (let count = 0; !await feed.isLast(); count++) {
      if (count === PARTS_MAX) throw bad(`more than ${PARTS_MAX} parts`);
      const headers = await readHeaders(feed);
      const bytes = feed.until(delimiter);
      yield { ...toPart(headers), bytes };
      await skip(bytes);
    }
  } finally {
    await chunks.return?.();
  }
}

/** Reads to the end what nobody wants; what was read already is not read again. */
async function skip(bytes: AsyncGenerator<Uint8Array>): Promise<void> {
  while (!(await bytes.next()).done);
}

function bad(reason: string, cause?: unknown): Problem {
  return new Problem("bad_multipart", { reason }, cause);
}

/** Bytes as they come, and what of them is not yet used: at most a chunk and a delimiter. */
class Feed {
  readonly #chunks: AsyncIterator<Uint8Array>;
  /** A form may begin with its first boundary, which no line end precedes. */
  #held: Uint8Array = Uint8Array.of(CR, LF);
  /** What is held lies in here once it was joined, with room for more behind it. */
  #room = new Uint8Array(0);

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** All up to a delimiter, which is taken as well. */
  async *until(delimiter: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const at = find(this.#held, delimiter);
      const before = this.#held.subarray(0, at ?? beginning(this.#held, delimiter));
      this.#held = this.#held.subarray(before.length + (at === undefined ? 0 : delimiter.length));
      if (before.length > 0) yield before;
      if (at !== undefined) return;
      await this.#more();
    }
  }

  /** After a boundary: two hyphens end the form, a line end begins a part. */
  async isLast(): Promise<boolean> {
    while (this.#held.length < 2) await this.#more();
    if (this.#held[0] === 45 && this.#held[1] === 45) return true;
    const rest = await this.line(HEADER_BYTES_MAX);
    if (rest.trim() !== "") throw bad("a boundary that does not end its line");
    return false;
  }

  /** A line without its end. */
  async line(bytes_max: number): Promise<string> {
    for (let from = 0;;) {
      const at = find(this.#held, Uint8Array.of(CR, LF), from);
      if ((at ?? this.#held.length) > bytes_max) throw bad("headers without an end");
      if (at !== undefined) {
        const line = new TextDecoder().decode(this.#held.subarray(0, at));
        this.#held = this.#held.subarray(at + 2);
        return line;
      }
      from = Math.max(0, this.#held.length - 1); // What was looked at is not looked at again.
      await this.#more();
    }
  }

  async #more(): Promise<void> {
    const next = await this.#next();
    if (next.done) throw bad("it is cut short");
    if (this.#held.length === 0) return void (this.#held = next.value);
    const { length, byteOffset: begin } = this.#held;
    const whole = length + next.value.length;
    if (this.#held.buffer !== this.#room.buffer || begin + whole > this.#room.length) {
      this.#room = new Uint8Array(whole + Math.min(whole, HEADER_BYTES_MAX));
      this.#room.set(this.#held);
      this.#held = this.#room.subarray(0, length);
    }
    const { byteOffset: from } = this.#held;
    this.#room.set(next.value, from + length);
    this.#held = this.#room.subarray(from, from + whole);
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    try {
      return await this.#chunks.next();
    } catch (fault) {
      if (fault instanceof Problem) throw fault;
      throw bad("it is cut short", fault); // The caller is gone.
    }
  }
}

function find(held: Uint8Array, wanted: Uint8Array, from = 0): number | undefined {
  for (let at = held.indexOf(CR, from); at >= 0; at = held.indexOf(CR, at + 1)) {
    if (at + wanted.length > held.length) return undefined;
    if (wanted.every((byte, offset) => held[at + offset] === byte)) return at;
  }
  return undefined;
}

/** Where what is wanted may begin, so that the next bytes decide; else the end. */
function beginning(held: Uint8Array, wanted: Uint8Array): number {
  let at = held.indexOf(CR, Math.max(0, held.length - wanted.length + 1));
  while (at >= 0 && !held.subarray(at).every((byte, offset) => byte === wanted[offset])) {
    at = held.indexOf(CR, at + 1);
  }
  return at < 0 ? held.length : at;
}

async function readHeaders(feed: Feed): Promise<Map<string, string>> {
  const headers = new Map<string, string>();
  let room = HEADER_BYTES_MAX;
  for (let line = await feed.line(room); line !== ""; line = await feed.line(room)) {
    room -= line.length;
    const colon = line.indexOf(":");
    if (colon < 1 || room < 0) throw bad("a header that is none");
    headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return headers;
}

function toPart(headers: ReadonlyMap<string, string>): Omit<Part, "bytes"> {
  const said = headers.get("content-disposition") ?? "";
  const name = parameter(said, "name");
  if (!/^form-data\s*;/i.test(said) || name === undefined) throw bad("a part without a name");
  return {
    name,
    filename: parameter(said, "filename"),
    content_type: headers.get("content-type") ?? "text/plain",
  };
}

/** One after the other, as a quoted value may hold what looks like another parameter. */
const PARAMETER = /;\s*(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/g;

/** A quoted value; browsers write its quotes and line ends as %22, %0D and %0A, others as `\"`. */
function parameter(said: string, name: string): string | undefined {
  const found = said.matchAll(PARAMETER).find(([, key]) => key?.toLowerCase() === name);
  const value = found?.[2]?.replaceAll('\\"', '"') ?? found?.[3];
  return value?.replaceAll(/%(?:22|0d|0a)/gi, (code) => decodeURIComponent(code));
}
