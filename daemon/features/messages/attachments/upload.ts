/** The body of an upload as it comes: bounded in bytes, and in how long it may stand still. */

import type { Clock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { Problem } from "kit/core/problem.ts";

/** What a form may weigh beyond its file: boundaries, headers, fields that nobody reads. */
const FORM_OVERHEAD_BYTES_MAX = 65_536;
/** How long a caller may send nothing: it holds one of few places. */
const IDLE_MS_MAX = 30_000;

export interface UploadLimits {
  readonly clock: Clock;
  /** Of the file itself. */
  readonly bytes_max: number;
  /** Aborts as the daemon goes down. */
  readonly shutdownSignal: AbortSignal;
}

/** Refuses what is too large by its own word, before any of it is read. */
export function refuseTooLarge(headers: Headers, bytes_max: number): void {
  const announced_bytes = Number(headers.get("content-length") ?? 0);
  if (announced_bytes > bytes_max + FORM_OVERHEAD_BYTES_MAX) {
    throw new Problem("attachment_too_large", { bytes_max });
  }
}

/** The chunks of a body. Leaving early, or a refusal, lets go of it. */
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
      if (!next) throw new Problem("bad_multipart", { reason: "it stands still" });
      if (next.done) return;
      bytes += next.value.length;
      if (bytes > bytes_max + FORM_OVERHEAD_BYTES_MAX) {
        throw new Problem("attachment_too_large", { bytes_max });
      }
      yield next.value;
    }
  } finally {
    reader.cancel().catch(() => undefined); // Nobody waits for a caller that is slow, or gone.
  }
}
