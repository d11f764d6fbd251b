/** Reads the body of an upload, with limits on its size and on idle time. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { Problem } from "kit/core/problem.ts";

/** How many bytes a form may have beyond its file, for boundaries, headers and ignored fields. */
const FORM_OVERHEAD_BYTES_MAX = 65_536;
/**
 * How long a caller may send nothing. A stalled upload would occupy one of the few places for
 * uploads.
 */
const IDLE_MS_MAX = 30_000;

export interface UploadLimits {
  readonly clock: Clock;
  /** The maximum size of the file itself. */
  readonly bytes_max: number;
  /** Aborts when the daemon shuts down. */
  readonly shutdownSignal: AbortSignal;
}

/** Refuses a body whose Content-Length is too large, before reading it. */
export function refuseTooLarge(headers: Headers, bytes_max: number): void {
  const announced_bytes = Number(headers.get("content-length") ?? 0);
  if (announced_bytes > bytes_max + FORM_OVERHEAD_BYTES_MAX) {
    throw new Problem("attachment_too_large", { bytes_max });
  }
}

/** The chunks of a body. The body is cancelled if the loop is left early or a limit is exceeded. */
export async function* readUpload(
  body: ReadableStream<Uint8Array>,
  { clock, bytes_max, shutdownSignal }: UploadLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const next = await timeout(clock, IDLE_MS_MAX, reader.read(), shutdownSignal);
      if (shutdownSignal.aborted) throw new Problem("shutting_down", {});
      if (!next) throw new Problem("bad_multipart", { reason: "nothing came for 30 s" });
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > bytes_max + FORM_OVERHEAD_BYTES_MAX) {
        throw new Problem("attachment_too_large", { bytes_max });
      }
      yield next.value;
    }
  } finally {
    reader.cancel().catch(() => undefined); // Not awaited, because the caller may be slow or gone.
  }
}
