/** Reads the event stream, and takes it up again where it broke off. */

import type { Clock } from "kit/core/clock.ts";
import { Refused } from "kit/http/client.ts";
import { pause } from "kit/core/timeout.ts";
import { Splitter } from "kit/core/text.ts";
import { type Daemon, Unreachable } from "./daemon_client.ts";

/** One event of the stream: `data` is what it carries, parsed. */
export interface StreamEvent {
  readonly id: string | undefined;
  readonly type: string;
  readonly data: unknown;
}

export interface Watching {
  readonly daemon: Pick<Daemon, "get">;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Stream parameters: `since`, `replay`. */
  readonly query?: Readonly<Record<string, string>>;
  /** Told when the stream broke, and when it is there again. */
  readonly notice?: (what: "lost" | "resumed") => void;
}

const PAUSE_MS_MIN = 250;
const PAUSE_MS_MAX = 5_000;

/** Events until the signal aborts. Only a first connection that fails is an error. */
export async function* watchEvents(watching: Watching): AsyncGenerator<StreamEvent> {
  const { clock, signal, notice, query = {} } = watching;
  let last: string | undefined, pause_ms = 0;
  for (let first = true; !signal.aborted; first = false) {
    const body = await connect(watching, { last, query, first });
    if (body) {
      if (pause_ms > 0) notice?.("resumed");
      pause_ms = 0;
      for await (const event of parseEvents(endOn(body, signal))) {
        last = event.id ?? (event.type === "ready" ? last ?? readyAt(event.data) : last);
        yield event;
      }
    }
    if (signal.aborted) return;
    if (pause_ms === 0) notice?.("lost");
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
    const before = name === "data" ? fields.get("data") : undefined;
    fields.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  const data = fields.get("data");
  if (data === undefined) return undefined;
  return { id: fields.get("id"), type: fields.get("event") ?? "message", data: parseData(data) };
}

interface From {
  readonly last: string | undefined;
  readonly query: Readonly<Record<string, string>>;
  readonly first: boolean;
}

/** Undefined when the daemon is away for now. */
async function connect(
  { daemon, signal }: Watching,
  { last, query, first }: From,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const headers = { accept: "text/event-stream", ...(last && { "last-event-id": last }) };
  const search = last === undefined ? `?${new URLSearchParams(query)}` : "";
  try {
    const response = await daemon.get(`/events/stream${search}`, { headers, signal });
    if (!response.ok) throw new Refused(response.status, await response.json());
    return response.body ?? undefined;
  } catch (fault) {
    if (signal.aborted || (fault instanceof Unreachable && !first)) return undefined;
    throw fault;
  }
}

/** A body that ends, instead of failing, when the line breaks or the signal aborts. */
async function* endOn(
  body: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (fault) {
    // Deno tells a broken line as a TypeError; whatever else it is, is ours to see.
    if (!signal.aborted && !(fault instanceof TypeError)) throw fault;
  }
}

/** Where a live stream begins, so that a break before its first event loses nothing. */
function readyAt(data: unknown): string | undefined {
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
