/** Reads request and response bodies up to a limit. */

import type { BodyLimiter } from "kit/http/body_limiter.ts";
import { CommonProblem, Refusal } from "kit/core/problem.ts";
import { messageOf } from "kit/core/text.ts";

/** The limit of a JSON body (contract 1). */
export const BODY_BYTES_MAX = 1_048_576;

type Bytes = Uint8Array<ArrayBuffer>;

/** Reads the whole body. Undefined if the body exceeds the limit; the rest is then not read. */
export async function readUpTo(
  body: AsyncIterable<Bytes> | null,
  bytes_max: number,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<Bytes | undefined> {
  // Copies chunks into one buffer: a list of 1-byte chunks takes hundreds of times the memory.
  let held: Bytes = new Uint8Array();
  let bytes = 0;
  for await (const chunk of body ?? []) {
    const at = bytes;
    bytes += chunk.byteLength;
    if (bytes > bytes_max) return undefined; // Leaving the loop cancels the rest of the body.
    if (at === 0) held = chunk;
    else {
      if (bytes > held.length) held = grow(held, at, Math.min(bytes_max, 2 * bytes));
      held.set(chunk, at);
    }
    onProgress(bytes);
  }
  return held.subarray(0, bytes);
}

/** A larger copy of the first bytes. */
function grow(held: Bytes, bytes: number, length: number): Bytes {
  const larger = new Uint8Array(length);
  larger.set(held.subarray(0, bytes));
  return larger;
}

/** Reads the body of a request. If its `Content-Length` exceeds the limit, reads nothing. */
export function readRequestBody(request: Request, bytes_max: number): Promise<Bytes | undefined> {
  const contentLength = request.headers.get("content-length");
  if (contentLength === null) return readUpTo(request.body, bytes_max);
  // The server reads no more than `Content-Length` bytes. Reading at once takes half the time.
  return Number(contentLength) > bytes_max ? Promise.resolve(undefined) : request.bytes();
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Decodes UTF-8. Undefined if bytes are invalid, because replacing them would change the text. */
export function decodeUtf8(bytes: Bytes): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Reads the whole body as text. Throws as soon as it exceeds `bytes_max`, and what the limiter
 * throws if the body arrives too slowly.
 */
export async function readBody(
  request: Request,
  bytes_max: number,
  limiter?: BodyLimiter,
): Promise<string> {
  const read = (request: Request) => readRequestBody(request, bytes_max);
  const bytes = await refuseOnAbort(() => limiter ? limiter.read(request, read) : read(request));
  if (!bytes) throw new CommonProblem("body_too_large", { bytes_max });
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new CommonProblem("bad_json", { reason: "it is not UTF-8" });
  return text;
}

/** The status that nginx logs when a client closes the connection before the response. */
export const CLIENT_CLOSED_REQUEST = 499;

/** An aborted request body is a 400, not a 500. */
export async function refuseOnAbort<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new CommonProblem("bad_json", { reason: "it was aborted" });
  }
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommonProblem("bad_json", { reason: messageOf(error) });
  }
}
