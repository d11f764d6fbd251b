/** The context of each service: storage, events, time, randomness, log, background work. */

import type { BackgroundWork } from "kit/core/background.ts";
import type { Clock, Ids } from "kit/core/clock.ts";
import type { EventLog } from "./event_log.ts";
import type { Log } from "kit/core/log.ts";
import type { Database } from "kit/data/sqlite.ts";

export interface Context {
  readonly db: Database;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Work in the background. The database closes after it. */
  readonly background: BackgroundWork;
}
