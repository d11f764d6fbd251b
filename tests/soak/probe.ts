/** Preloaded into the daemon under test: counts its timers, and measures its heap on SIGUSR2. */

import { renameSync, writeFileSync } from "node:fs";

const state = Deno.env.get("MESH_STATE") ?? ".";
const ahead_ms = Number(Deno.env.get("SOAK_AHEAD_MS") ?? 0);

const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
type Timer = ReturnType<typeof startTimer>;
const timers = new Set<Timer>();

Object.assign(globalThis, {
  setTimeout(callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): Timer {
    const timer: Timer = startTimer(() => {
      timers.delete(timer);
      callback(...args);
    }, ms);
    timers.add(timer);
    return timer;
  },
  clearTimeout(timer?: Timer): void {
    if (timer !== undefined) timers.delete(timer);
    stopTimer(timer);
  },
});

if (ahead_ms > 0) {
  const now = Date.now;
  Date.now = () => now() + ahead_ms;
}

/** V8's own function, which its flag `--expose-gc` adds. */
const collectGarbage: () => void = Reflect.get(globalThis, "gc");

let reports = 0;
Deno.addSignalListener("SIGUSR2", () => {
  collectGarbage();
  const { heapUsed, external } = Deno.memoryUsage();
  const report = { number: ++reports, heap: heapUsed + external, timers: timers.size };
  // Renamed, because the soak reads it at any time.
  writeFileSync(`${state}/probe.part`, JSON.stringify(report));
  renameSync(`${state}/probe.part`, `${state}/probe.json`);
});
