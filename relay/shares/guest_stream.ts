/** What a guest hears of a daemon's event stream: events that name the peer, and no other. */

import { Splitter, tryJson } from "kit/core/text.ts";
import { StreamError } from "kit/net/tunnel/stream.ts";

/** What waits for the human is nobody else's, whoever it names (specification 5). */
export const NEVER_SHARED: ReadonlySet<string> = new Set([
  "inbox_item",
  "inbox_updated",
  "surface_pushed",
]);
/** An event holds ids, names and counts: one that is longer is none. */
const FRAME_CHARS_MAX = 65_536;
const KEEP_ALIVE = ": keep-alive\n\n";

/** Lets through what may be heard; ends in an error at what is no event stream. */
export function filterEvents(peer_id: string): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const frames = new Splitter("\n\n", 1);
  return new TransformStream({
    transform(chunk, controller) {
      const ended = frames.push(decoder.decode(chunk, { stream: true }));
      if (frames.length > FRAME_CHARS_MAX) {
        throw new StreamError("an event is longer than any is", true);
      }
      for (const frame of ended) {
        const guestFrame = toGuest(frame, peer_id);
        if (guestFrame !== undefined) controller.enqueue(encoder.encode(guestFrame));
      }
    },
  });
}

/**
 * Passes all on until `over`, and says when it is over, whoever ended it. A share that ends is no
 * fault: its guest's stream has an end then, and does not break.
 */
export function endOnAbort(
  stop: AbortSignal,
  body: ReadableStream<Uint8Array>,
  done: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const ended = Promise.withResolvers<{ done: true; value?: undefined }>();
  stop.addEventListener("abort", () => ended.resolve({ done: true }), { once: true });
  return new ReadableStream({
    async pull(controller) {
      try {
        const next = await Promise.race([ended.promise, reader.read()]);
        if (!next.done) return controller.enqueue(next.value);
        controller.close();
      } catch (error) {
        if (!stop.aborted) controller.error(error);
        else controller.close();
      }
      done();
    },
    cancel(reason) {
      done();
      return reader.cancel(reason);
    },
  });
}

/** A frame as a guest gets it, made anew of what was read; undefined for what is not heard. */
function toGuest(frame: string, peer_id: string): string | undefined {
  const lines = frame.split("\n");
  if (lines.every((line) => line.startsWith(":"))) return KEEP_ALIVE;
  const type = fieldOf(lines, "event");
  const data = tryJson(fieldOf(lines, "data") ?? "");
  if (type === undefined || !/^\w{1,64}$/.test(type) || NEVER_SHARED.has(type)) return undefined;
  if (!mentionsPeer(data, peer_id)) return undefined;
  const id = fieldOf(lines, "id");
  const idLine = id !== undefined && /^\d{1,15}$/.test(id) ? `id: ${id}\n` : "";
  return `${idLine}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
}

function fieldOf(lines: readonly string[], name: string): string | undefined {
  return lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
}

/** Whether an event is about the peer: by its id alone, as a name may be anybody's. */
function mentionsPeer(data: unknown, peer_id: string): boolean {
  if (typeof data !== "object" || data === null) return false;
  if (NEVER_SHARED.has(String(Reflect.get(data, "type")))) return false;
  return Object.entries(data).some(([key, value]) =>
    /(^|_)peer_id$/.test(key) && value === peer_id
  );
}
