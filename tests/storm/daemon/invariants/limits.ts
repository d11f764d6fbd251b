/** Invariants of limits: what is held goes nowhere, and a hold ends by a person or by itself. */

import assert from "node:assert/strict";
import { isLimited } from "protocol/limits/states.ts";
import type { Invariant, Storm } from "../storm.ts";

/** Time after which a probe without a report counts as answered. */
const PROBE_MS_MAX = 10 * 60_000;

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
  {
    name: "the others of an account go on after the probe's turn ended well, or after its time",
    check: checkAnswered,
  },
];

/** A message beside the probe fails at once (`mayGo`), so this checks the end of the probe. */
function checkAnswered({ goodTurns, start: { at, event_id, limit }, w }: Storm): void {
  const { clock, daemon: { ctx: { events } } } = w;
  const changes = events.read({ since: event_id, limit: 1_000, type: "limit_changed" });
  const isAnswered = changes.some(({ type, data }) =>
    type === "limit_changed" && data.account_id === limit?.account_id && data.reason === "answered"
  );
  if (!isAnswered || !limit) return;
  const { probe_peer_id, probe_at } = limit;
  const isGood = probe_peer_id === null ? goodTurns.size > 0 : goodTurns.has(probe_peer_id);
  const isOver = clock.now() - (probe_at ?? at) >= PROBE_MS_MAX;
  assert.ok(isGood || isOver, "The account is clear, and its probe has not ended well");
}
