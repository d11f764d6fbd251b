/** Uploads the content of a file to the daemon, as it is read. */

import { ApiError, type WireResponse } from "kit/http/client.ts";
import { type Clock, randomIds, systemClock } from "kit/core/clock.ts";
import { Silence } from "kit/net/silence.ts";
import { uploadAttachment } from "protocol/messages/attachments.ts";
import { type DaemonClient, DaemonUnreachable } from "./daemon_client.ts";
import { ANSWER_MS_MAX } from "./local_http.ts";

interface Upload {
  readonly filename: string;
  /** A media type without line ends. */
  readonly content_type: string;
  readonly content: ReadableStream<Uint8Array>;
}

/**
 * Uploads one file. Throws the daemon's refusal, or `DaemonUnreachable`, also if the daemon takes
 * nothing for `ANSWER_MS_MAX`.
 */
export async function uploadContent(
  daemon: Pick<DaemonClient, "get" | "url">,
  upload: Upload,
  signal?: AbortSignal,
  clock: Pick<Clock, "setTimer"> = systemClock,
): Promise<WireResponse<typeof uploadAttachment>> {
  const boundary = `mesh-${randomIds.hex(16)}`;
  const { promise: stalled, reject } = Promise.withResolvers<never>();
  const stop = new AbortController();
  using silence = new Silence(clock, ANSWER_MS_MAX, () => {
    const why = new Error(`no data was accepted for ${ANSWER_MS_MAX / 1000} s`);
    reject(new DaemonUnreachable(daemon.url, why));
    stop.abort();
  });
  const sending = send(daemon, {
    headers: { "content-type": `${uploadAttachment.bodyType}; boundary=${boundary}` },
    body: ReadableStream.from(multipartForm(upload, boundary, () => silence.heard())),
    signal: AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]),
  });
  return await Promise.race([sending, stalled]);
}

async function send(
  daemon: Pick<DaemonClient, "get" | "url">,
  request: Parameters<DaemonClient["get"]>[1],
): Promise<WireResponse<typeof uploadAttachment>> {
  const { method, path } = uploadAttachment;
  const response = await daemon.get(path, { method, ...request });
  const answer = await response.json().catch((error) => {
    throw new DaemonUnreachable(daemon.url, error);
  });
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}

/** Yields a multipart form with one file, read as it is sent. Calls `sent` for each chunk. */
async function* multipartForm(
  { filename, content_type, content }: Upload,
  boundary: string,
  sent: () => void,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  const name = filename.replaceAll(/["\r\n]/g, (char) => encodeURIComponent(char));
  yield encoder.encode(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\n` +
      `content-type: ${content_type}\r\n\r\n`,
  );
  for await (const chunk of content) {
    sent();
    yield chunk;
  }
  yield encoder.encode(`\r\n--${boundary}--\r\n`);
}
