/** Reads a file that a chat sends us. */

import { ChatError } from "./chat.ts";

/** Reads a body, and stops as soon as it is too large. */
export async function readBounded(
  body: Response["body"],
  bytes_max: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > bytes_max) {
      throw new ChatError("bad_request", `it has more than ${bytes_max} bytes`);
    }
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
