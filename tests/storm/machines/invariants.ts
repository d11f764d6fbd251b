/** Invariants of machines: after every step, and those of the end, when everything has arrived. */

import { FINAL_INVARIANTS } from "./invariants/finally.ts";
import { LEDGER_INVARIANTS, REQUEST_INVARIANTS } from "./invariants/ledgers.ts";
import { TRUTH_INVARIANTS } from "./invariants/truth.ts";

export const MACHINES_INVARIANTS = [
  ...LEDGER_INVARIANTS,
  ...TRUTH_INVARIANTS,
  ...REQUEST_INVARIANTS,
];
export { FINAL_INVARIANTS };
