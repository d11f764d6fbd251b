/** One thing that holds after every step of a storm. */

import type { Picture } from "../snapshot.ts";
import type { Storm } from "../storm.ts";

export interface Invariant {
  readonly name: string;
  /** Throws when it does not hold; `storm.before` is the picture before the step. */
  readonly check: (storm: Storm, now: Picture) => void | Promise<void>;
}
