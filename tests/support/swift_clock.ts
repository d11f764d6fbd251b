/**
 * A fake clock whose turns cost no timer: four timers take 9 ms, in which the process does nothing.
 * Work that waits for the disk or for a program needs `FakeClock`, whose turns take real time.
 */

import { FakeClock } from "./clock.ts";

/** Turns of the event loop after which everything that a verb started has settled. */
export const TURNS = 8;

export class SwiftClock extends FakeClock {
  override async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await new Promise((done) => setImmediate(done));
  }
}
