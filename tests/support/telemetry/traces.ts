/** Helpers for traces: a daemon that sends its spans to a collector of the test. */

import type { Collector } from "./collector.ts";
import type { World, WorldOptions } from "../world.ts";

/** A daemon whose spans a collector gets, without a network between them. */
export function tracedBy(collector: Collector, more: WorldOptions = {}): WorldOptions {
  const settings = { "telemetry.otlp": "http://127.0.0.1:4318", ...more.settings };
  return { ...more, settings, send: collector.handle };
}

/** Two seconds: a step that nobody waits for is committed late, and the next tick sends it. */
export async function exportSpans(w: World): Promise<void> {
  await w.tick();
  await w.tick();
}
