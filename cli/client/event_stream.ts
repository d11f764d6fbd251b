/** Reads the daemon's event stream, and resumes it after a lost connection. */

import * as z from "zod";
import type { Clock } from "kit/core/clock.ts";
import { ApiError } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import { Silence } from "kit/net/silence.ts";
import { Splitter, tryJson } from "kit/core/text.ts";
import { type DaemonClient, DaemonUnreachable } from "./daemon_client.ts";

/** One event of the stream; `data` is parsed JSON, or the text itself. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: unknown;
}

interface WatchOptions {
  readonly daemon: Pick<DaemonClient, "get">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Query parameters of `GET /events/stream`: `since` and `replay`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Called when the stream is lost and when it is resumed. */
  readonly onConnectionChange?: (change: "lost" | "resumed") => void;
}

/** The daemon sends something every 15 s. After this silence the stream counts as lost. */
export const SILENCE_MS_MAX = 45_000;
const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 5_000;

/** Yields events until the signal aborts. Throws only when the first connection fails. */
export async function* watchEvents(options: WatchOptions): AsyncGenerator<StreamEvent> {
  const { clock, signal, onConnectionChange } = options;
  let last: string | undefined, pause_ms = 0;
  for (let first = true; !signal.aborted; first = false) {
    const lost = new AbortController();
    using silence = new Silence(clock, SILENCE_MS_MAX, () => lost.abort());
    const ended = AbortSignal.any([signal, lost.signal]);
    const body = await connect(options, { last, first, ended });
    if (body) {
      if (pause_ms > 0) onConnectionChange?.("resumed");
      pause_ms = 0;
      for await (const event of parseEvents(endOnAbort(body, ended, () => silence.heard()))) {
        last = event.id ?? (event.type === "ready" ? last ?? lastBefore(event.data) : last);
        yield event;
      }
    }
    if (signal.aborted) return;
    if (pause_ms === 0) onConnectionChange?.("lost");
    pause_ms = Math.min(Math.max(pause_ms * 2, PAUSE_MS_MIN), PAUSE_MS_MAX);
    await pause(clock, pause_ms, signal);
  }
}

/** Parses `text/event-stream`; comments are skipped. */
export async function* parseEvents(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder();
  const frames = new Splitter(/\r?\n\r?\n/, 3);
  for await (const chunk of chunks) {
    for (const frame of frames.push(decoder.decode(chunk, { stream: true }))) {
      const event = parseFrame(frame);
      if (event) yield event;
    }
  }
}

function parseFrame(frame: string): StreamEvent | undefined {
  const fields = new Map<string, string>();
  for (const line of frame.split(/\r?\n/)) {
    const [, name, value = ""] = /^(\w+):? ?(.*)/s.exec(line) ?? [];
    if (name === undefined) continue;
    const previous = name === "data" ? fields.get("data") : undefined;
    fields.set(name, previous === undefined ? value : `${previous}\n${value}`);
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  const json = tryJson(data);
  return {
    id: fields.get("id"),
    type: fields.get("event") ?? "message",
    data: json === undefined ? data : json,
  };
}

/** Connects to the event stream; returns undefined while the daemon is not running. */
async function connect(
  { daemon, query }: WatchOptions,
  { last, first, ended }: {
    readonly last: string | undefined;
    readonly first: boolean;
    readonly ended: AbortSignal;
  },
): Promise<ReadableStream<Uint8Array> | undefined> {
  const headers = { accept: "text/event-stream", ...(last && { "last-event-id": last }) };
  const search = last === undefined ? `?${new URLSearchParams(query ?? {})}` : "";
  try {
    const response = await daemon.get(`/events/stream${search}`, { headers, signal: ended });
    if (!response.ok) throw new ApiError(response.status, await response.json());
    return response.body ?? undefined;
  } catch (error) {
    if (ended.aborted || (error instanceof DaemonUnreachable && !first)) return undefined;
    throw error;
  }
}

/**
 * Yields the chunks of the body. When the connection is lost or the signal aborts, the generator
 * ends instead of throwing. The body is cancelled here, because the signal of a request does not
 * reach its response once the request was collected as garbage.
 */
async function* endOnAbort(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  heard: () => void,
): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  const cancel = () => void reader.cancel().catch(() => undefined); // It may be lost already.
  signal.addEventListener("abort", cancel, { once: true });
  try {
    while (!signal.aborted) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      yield value;
    }
  } catch (error) {
    // Deno reports a lost connection as a TypeError.
    if (!signal.aborted && !(error instanceof TypeError)) throw error;
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}

/**
 * The id of the last event before a live stream. If the connection is lost before the first event
 * arrives, the stream is resumed after this id, so that no event is skipped.
 */
function lastBefore(ready: unknown): string | undefined {
  return z.object({ last: z.number() }).safeParse(ready).data?.last.toString();
}
