/** Invariants of limits: what is held goes nowhere, and a hold ends by a person or by itself. */

import assert from "node:assert/strict";
import { isLimited } from "protocol/limits/states.ts";
import type { Invariant } from "../storm.ts";

export const LIMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: "a limit names its next try, unless a person decides",
    check(storm) {
      const limit = storm.limitOfAccount();
      if (!limit || !isLimited(limit.state)) return;
      const isPaid = limit.state !== "out_of_credits";
      assert.equal(limit.due_at !== null, isPaid, `${limit.state} is due at ${limit.due_at}`);
      if (limit.due_at === null || !storm.hasTicked) return;
      assert.ok(limit.due_at > storm.w.clock.now(), "The account is overdue");
    },
  },
  {
    name: "only an account that is tried has a probe",
    check(storm) {
      const { state, probe_peer_id, probe_id } = storm.limitOfAccount() ?? {};
      if (state !== "probing") {
        assert.deepEqual([probe_peer_id ?? null, probe_id ?? null], [null, null]);
      }
    },
  },
];
