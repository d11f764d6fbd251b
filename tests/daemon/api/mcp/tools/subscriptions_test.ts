/** Agents subscribe, list their subscriptions, and cancel them. */

import assert from "node:assert/strict";
import { agents } from "../../../../support/daemon/mcp_agents.ts";
import { PROTOCOL_VERSIONS } from "../../../../support/daemon/mcp_server.ts";
import { world } from "../../../../support/world.ts";

const [, protocolVersion = "2026-07-28" as const] = PROTOCOL_VERSIONS;

Deno.test("an agent subscribes in its own name, lists and cancels [4.when.tool]", async () => {
  await using w = world();
  await using at = await agents(w, protocolVersion);
  const asked = { condition: "peer:web offline", idempotency_key: "one" };
  const made = await at.api.call("subscribe", asked);
  assert.equal(made.problemResponse, false, made.text);
  assert.match(made.text, /^sub-\w{12}: "?peer:web offline"?, once, active\.$/);
  assert.equal((await at.api.call("subscribe", asked)).text, made.text);
  assert.equal((await at.api.call("subscribe", { action: "list" })).text, made.text);
  assert.equal(
    (await at.web.call("subscribe", { action: "list" })).text,
    "No active subscriptions.",
  );
  const [{ subscription_id = "" } = {}] = made.data["subscriptions"] as {
    subscription_id: string;
  }[];
  const gone = await at.api.call("subscribe", { action: "cancel", subscription_id });
  assert.match(gone.text, /, cancelled\.$/);
});

Deno.test("the tool says what is missing [4.when.tool]", async () => {
  await using w = world();
  await using at = await agents(w, protocolVersion);
  const refused = async (args: Record<string, unknown>) => {
    const { problemResponse, text } = await at.api.call("subscribe", args);
    return problemResponse ? text : "accepted";
  };
  assert.match(await refused({}), /condition: give one of: peer:NAME idle/);
  assert.match(await refused({ condition: "web idle" }), /is no condition; allowed: peer:NAME/);
  assert.match(await refused({ action: "cancel" }), /subscription_id: needed to cancel/);
});
