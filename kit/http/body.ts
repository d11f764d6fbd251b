/** Reads bodies up to a limit, so that nobody makes us hold more. */

type Bytes = Uint8Array<ArrayBuffer>;

/** The whole body; undefined for a longer one, of which no more is read. */
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

/** The body of a request that came in: one whose announced length is too great is not read. */
export async function readRequestBody(
  request: Request,
  bytes_max: number,
): Promise<Bytes | undefined> {
  const contentLength = request.headers.get("content-length");
  if (contentLength === null) return await readUpTo(request.body, bytes_max);
  // The server reads no more than was announced, and all at once costs half of piece by piece.
  return Number(contentLength) > bytes_max ? undefined : await request.bytes();
}

/** Undefined where it is not UTF-8: a text with letters replaced is not what was sent. */
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
