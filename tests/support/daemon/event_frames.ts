/** Reads an event stream until it is quiet. */

import assert from "node:assert/strict";
import type { World } from "../world.ts";

export interface StreamFrame {
  readonly id?: number;
  readonly event: string;
}

/** The frames of a stream so far, and the frames that `work` causes. */
export async function readFrames(
  w: World,
  query: string,
  work: () => Promise<void> = () => Promise.resolve(),
): Promise<StreamFrame[]> {
  const gone = new AbortController();
  const { body } = await w.fetch(`/events/stream${query}`, { signal: gone.signal });
  assert.ok(body);
  const frames: StreamFrame[] = [];
  const reading = (async () => {
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      frames.push(toFrame(chunk));
    }
  })();
  await w.clock.settle();
  await work();
  await w.clock.settle();
  gone.abort();
  await reading.catch(() => undefined);
  return frames;
}

function toFrame(text: string): StreamFrame {
  const [, id] = /^id: (\d+)$/m.exec(text) ?? [];
  const [, event = ""] = /^event: (.*)$/m.exec(text) ?? [];
  return { ...(id !== undefined && { id: Number(id) }), event };
}
