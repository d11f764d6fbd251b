/** Filters a daemon's event stream for a guest. Only events that name the shared peer pass. */

import { Splitter, tryJson } from "kit/core/text.ts";
import { StreamError } from "kit/net/tunnel/stream.ts";

/** Events of the human's inbox are never shared (specification 5). */
export const NEVER_SHARED: ReadonlySet<string> = new Set([
  "inbox_item",
  "inbox_updated",
  "surface_pushed",
]);
/** Size limit of an event. Events contain ids, names and counts only, so they are shorter. */
const FRAME_CHARS_MAX = 65_536;
const KEEP_ALIVE = ": keep-alive\n\n";
/** A page cannot see comments. This event distinguishes a quiet stream from a frozen one. */
const ALIVE = `${KEEP_ALIVE}event: alive\ndata: {}\n\n`;

/**
 * Forwards the events that a guest may see. Fails if the event stream is invalid. With
 * `sendsAlive`, each keep-alive comment comes with an event.
 */
export function filterEvents(
  peer_id: string,
  sendsAlive = false,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const frames = new Splitter("\n\n", 1);
  return new TransformStream({
    // A proxy may hold the head back until the body begins.
    start: (controller) => controller.enqueue(encoder.encode(KEEP_ALIVE)),
    transform(chunk, controller) {
      const ended = frames.push(decoder.decode(chunk, { stream: true }));
      if (frames.length > FRAME_CHARS_MAX) {
        throw new StreamError("an event exceeds the size limit", true);
      }
      for (const frame of ended) {
        const guestFrame = toGuest(frame, peer_id);
        if (guestFrame === KEEP_ALIVE && sendsAlive) controller.enqueue(encoder.encode(ALIVE));
        else if (guestFrame !== undefined) controller.enqueue(encoder.encode(guestFrame));
      }
    },
  });
}

/**
 * Passes on a body until `stop` aborts, then closes the stream without an error. Calls `done` at
 * the end of the stream, whatever ended it.
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

/** The frame for a guest, rebuilt from parsed fields. Undefined if the guest may not see it. */
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

/** True if an event names the peer by id. A name does not count: another peer may have it. */
function mentionsPeer(data: unknown, peer_id: string): boolean {
  if (typeof data !== "object" || data === null) return false;
  if (NEVER_SHARED.has(String(Reflect.get(data, "type")))) return false;
  return Object.entries(data).some(([key, value]) =>
    /(^|_)peer_id$/.test(key) && value === peer_id
  );
}
