/** Dependencies of the connections to kitty. */

import type { Clock } from "kit/core/clock.ts";
import type { Log } from "kit/core/log.ts";

export interface KittyOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** A private directory (0700) for the program that kitty runs for the daemon. */
  readonly state_dir: string;
  readonly answer_ms_max?: number;
}
