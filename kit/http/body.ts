/** Reads request and response bodies up to a limit. */

type Bytes = Uint8Array<ArrayBuffer>;

/** The whole body; undefined once it exceeds the limit. Then the rest is not read. */
export async function readUpTo(
  body: AsyncIterable<Bytes> | null,
  bytes_max: number,
  onProgress: (bytes: number) => void = () => undefined,
): Promise<Bytes | undefined> {
  const chunks: Bytes[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytes_max) return undefined; // Leaving the loop cancels the rest.
    chunks.push(chunk);
    onProgress(bytes);
  }
  const [first] = chunks;
  return first && chunks.length === 1 ? first : concat(chunks, bytes);
}

/** The body of a request. It is not read if its `Content-Length` exceeds the limit. */
export async function readRequestBody(
  request: Request,
  bytes_max: number,
): Promise<Bytes | undefined> {
  const contentLength = request.headers.get("content-length");
  if (contentLength === null) return await readUpTo(request.body, bytes_max);
  // The server reads no more than the length says. Reading at once costs half of reading in chunks.
  return Number(contentLength) > bytes_max ? undefined : await request.bytes();
}

/** The text; undefined for invalid UTF-8, as replacing bytes would change what was sent. */
export function decodeUtf8(bytes: Bytes): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function concat(chunks: readonly Bytes[], bytes: number): Bytes {
  const result = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    result.set(chunk, at);
    at += chunk.byteLength;
  }
  return result;
}
