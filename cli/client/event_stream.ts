/** Reads the event stream, and takes it up again where it broke off. */

import type { Clock } from "kit/core/clock.ts";
import { ApiError } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import { Splitter } from "kit/core/text.ts";
import { type DaemonClient, DaemonUnreachable } from "./daemon_client.ts";

/** One event of the stream: `data` is what it carries, parsed. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: unknown;
}

export interface WatchOptions {
  readonly daemon: Pick<DaemonClient, "get">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Stream parameters: `since`, `replay`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Told when the stream broke, and when it is there again. */
  readonly onConnectionChange?: (change: "lost" | "resumed") => void;
}

const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 5_000;

/** Events until the signal aborts. Only a first connection that fails is an error. */
export async function* watchEvents(options: WatchOptions): AsyncGenerator<StreamEvent> {
  const { clock, signal, onConnectionChange, query = {} } = options;
  let last: string | undefined, pause_ms = 0;
  for (let first = true; !signal.aborted; first = false) {
    const body = await connect(options, { last, query, first });
    if (body) {
      if (pause_ms > 0) onConnectionChange?.("resumed");
      pause_ms = 0;
      for await (const event of parseEvents(endOnAbort(body, signal))) {
        last = event.id ?? (event.type === "ready" ? last ?? readyEventId(event.data) : last);
        yield event;
      }
    }
    if (signal.aborted) return;
    if (pause_ms === 0) onConnectionChange?.("lost");
    pause_ms = Math.min(Math.max(pause_ms * 2, PAUSE_MS_MIN), PAUSE_MS_MAX);
    await pause(clock, pause_ms, signal);
  }
}

/** Frames of `text/event-stream`: comments are skipped, a frame ends at an empty line. */
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
  return { id: fields.get("id"), type: fields.get("event") ?? "message", data: parseData(data) };
}

interface ConnectOptions {
  readonly last: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly first: boolean;
}

/** Undefined when the daemon is away for now. */
async function connect(
  { daemon, signal }: WatchOptions,
  { last, query, first }: ConnectOptions,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const headers = { accept: "text/event-stream", ...(last && { "last-event-id": last }) };
  const search = last === undefined ? `?${new URLSearchParams(query)}` : "";
  try {
    const response = await daemon.get(`/events/stream${search}`, { headers, signal });
    if (!response.ok) throw new ApiError(response.status, await response.json());
    return response.body ?? undefined;
  } catch (error) {
    if (signal.aborted || (error instanceof DaemonUnreachable && !first)) return undefined;
    throw error;
  }
}

/** A body that ends, instead of failing, when the line breaks or the signal aborts. */
async function* endOnAbort(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    // Deno tells a broken line as a TypeError; whatever else it is, is ours to see.
    if (!signal.aborted && !(error instanceof TypeError)) throw error;
  }
}

/** Where a live stream begins, so that a break before its first event loses nothing. */
function readyEventId(data: unknown): string | undefined {
  const known = typeof data === "object" && data !== null && "last" in data;
  return known && typeof data.last === "number" ? String(data.last) : undefined;
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
