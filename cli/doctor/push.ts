/** The doctor's check of the devices that get notifications. */

import type { Check, CheckResult } from "./finding.ts";
import type { PushDevices } from "./snapshot.ts";

export const PUSH: Check = {
  area: "push",
  run(_, { push }) {
    if (!push) return []; // An agent, or an older daemon: only a person sees the devices.
    const active = push.filter(({ ended_at }) => ended_at === null);
    const found = push.flatMap(problemOf);
    if (found.length > 0) return found;
    const count = active.length === 1 ? "1 device gets" : `${active.length} devices get`;
    return [["ok", "PUSH_OK", `${count} notifications while the dashboard is closed`]];
  },
};

function problemOf(
  { subscription_id, name, end_reason, last }: PushDevices[number],
): CheckResult[] {
  const fix = "switch notifications on again in Settings on that device";
  if (end_reason !== null) {
    return [["warning", "PUSH_ENDED", `${name} gets no more notifications: ${end_reason}`, fix]];
  }
  if (last?.state !== "failed") return [];
  const detail = `the last notification to ${name} failed: ${last.reason}`;
  const advice = last.reason === "HTTP 403"
    ? "set an address that reaches you: mesh config set push.contact mailto:YOU@DOMAIN"
    : `try again: mesh push test ${subscription_id}`;
  return [["warning", "PUSH_FAILED", detail, advice]];
}
