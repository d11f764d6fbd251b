import assert from "node:assert/strict";
import { statusWithSleep, wakeSentence } from "protocol/derived/wakes.ts";

const wake = (state: "asleep" | "asking" | "waking" | "awake" | "not_resumable", more = {}) => {
  return { state, policy: "ask" as const, reason: null, detail: null, ...more };
};

Deno.test("a sleeping agent is asleep or waking in lists, and any other offline peer is offline", () => {
  const offline = (wake: Parameters<typeof statusWithSleep>[0]["wake"]) =>
    statusWithSleep({ status: "offline", wake });
  assert.deepEqual(
    [wake("asleep"), wake("asking"), wake("waking"), wake("not_resumable"), null].map(offline),
    ["asleep", "asleep", "waking", "offline", "offline"],
  );
  assert.equal(statusWithSleep({ status: "online", wake: wake("awake") }), "online");
});

Deno.test("a sentence says why an agent sleeps, and how it is woken", () => {
  const refused = wake("asleep", { reason: "not_now", detail: "a person does not want it now" });
  assert.match(wakeSentence("api", refused) ?? "", /asleep \(a person .*mesh wake api/);
  const lost = wake("not_resumable", { reason: "no_session", detail: "no session is known" });
  assert.match(wakeSentence("api", lost) ?? "", /cannot be woken: no session is known/);
  assert.equal(wakeSentence("api", wake("awake")), undefined);
  assert.equal(wakeSentence("api", null), undefined);
});
