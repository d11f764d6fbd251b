/** One thing that may happen in a storm. */

import type { Storm } from "../storm.ts";

export interface Verb {
  readonly name: string;
  /** How often it happens, beside the others. */
  readonly weight: number;
  readonly run: (storm: Storm) => Promise<unknown>;
}
