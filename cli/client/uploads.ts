/** Uploads the content of a file to the daemon, as it is read. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { randomIds } from "kit/core/clock.ts";
import { uploadAttachment } from "../../daemon/features/messages/attachments/contract.ts";
import { type DaemonClient, DaemonUnreachable } from "./daemon_client.ts";

interface Upload {
  readonly filename: string;
  /** A media type without line ends. */
  readonly content_type: string;
  readonly content: ReadableStream<Uint8Array>;
}

/** Uploads one file. Throws the daemon's refusal, or `DaemonUnreachable`. */
export async function uploadContent(
  daemon: Pick<DaemonClient, "get" | "url">,
  upload: Upload,
  signal?: AbortSignal,
): Promise<WireResponse<typeof uploadAttachment>> {
  const boundary = `mesh-${randomIds.hex(16)}`;
  const response = await daemon.get(uploadAttachment.path, {
    method: uploadAttachment.method,
    headers: { "content-type": `${uploadAttachment.bodyType}; boundary=${boundary}` },
    body: ReadableStream.from(multipartForm(upload, boundary)),
    ...(signal && { signal }),
  });
  const answer = await response.json().catch((error) => {
    throw new DaemonUnreachable(daemon.url, error);
  });
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

/** Yields a multipart form with one file, read as it is sent. */
async function* multipartForm(
  { filename, content_type, content }: Upload,
  boundary: string,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const name = filename.replaceAll(/["\r\n]/g, (char) => encodeURIComponent(char));
  yield encoder.encode(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n` +
      `content-type: ${content_type}\r\n\r\n`,
  );
  yield* content;
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}
