/** Preloaded into the daemon under test: counts its timers, and measures its heap on SIGUSR2. */

import { renameSync, writeFileSync } from "node:fs";

const state = Deno.env.get("MESH_STATE") ?? ".";
const ahead_ms = Number(Deno.env.get("SOAK_AHEAD_MS") ?? 0);

const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
const timers = new Set<number>();

Object.assign(globalThis, {
  setTimeout(callback: (...args: unknown[]) => void, ms?: number, ...args: unknown[]): number {
    const timer = startTimer(() => {
      timers.delete(timer);
      callback(...args);
    }, ms);
    timers.add(timer);
    return timer;
  },
  clearTimeout(timer?: number): void {
    if (timer !== undefined) timers.delete(timer);
    stopTimer(timer);
  },
});

if (ahead_ms > 0) {
  const now = Date.now;
  Date.now = () => now() + ahead_ms;
}

let reports = 0;
Deno.addSignalListener("SIGUSR2", () => {
  if ("gc" in globalThis && typeof globalThis.gc === "function") globalThis.gc();
  const { heapUsed, external } = Deno.memoryUsage();
  const report = { number: ++reports, heap: heapUsed + external, timers: timers.size };
  // Renamed, because the soak reads it at any time.
  writeFileSync(`${state}/probe.part`, JSON.stringify(report));
  renameSync(`${state}/probe.part`, `${state}/probe.json`);
});
