/** Rules between the fields of a body are in the API description, where a schema can say them. */

import assert from "node:assert/strict";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/server/validators/ajv";
import { world } from "../../support/world.ts";

const AT = "2026-12-24T09:00:00.000Z";
const JOB = { prompt: "Test it", assigned_peer: "api" };
const SCHEDULE = { from_peer: "web", to_peer: "api", text: "Go on" };
const QUESTION = { prompt: "Go?", scope: "go", options: [] };

/** Bodies that keep a rule, and bodies that break it. */
const BODIES: Readonly<Record<string, { kept: readonly object[]; broken: readonly object[] }>> = {
  "/jobs": {
    kept: [
      JOB,
      { ...JOB, process_scope: "persistent", profile: null },
      { ...JOB, title: "A test", prompt: null },
      { title: "A test", path: "/work/api", backend: "codex", assigned_peer: null },
      { ...JOB, cron: "0 9 * * 1", due_at: null },
      { ...JOB, due_at: AT, deadline_at: AT, expires_at: AT },
    ],
    broken: [
      {},
      { assigned_peer: "api" },
      { ...JOB, prompt: null },
      { prompt: "Test it" },
      { prompt: "Test it", backend: "codex" },
      { prompt: "Test it", path: "/work/api" },
      { ...JOB, path: "/work/api" },
      { ...JOB, backend: "sdk" },
      { ...JOB, profile: "fast" },
      { ...JOB, process_scope: "per_fire" },
      { ...JOB, cron: "0 9 * * 1", due_at: AT },
      { ...JOB, cron: "0 9 * * 1", deadline_at: AT },
      { ...JOB, cron: "0 9 * * 1", expires_at: AT },
    ],
  },
  "/schedules": {
    kept: [{ ...SCHEDULE, fire_at: "2h" }, { ...SCHEDULE, cron: "0 9 * * 1", fire_at: null }],
    broken: [SCHEDULE, { ...SCHEDULE, cron: null }, { ...SCHEDULE, cron: "@daily", fire_at: "2h" }],
  },
  "/schedules/{id}": {
    kept: [{ text: "Wait" }, { cron: "@daily", fire_at: null }],
    broken: [{}, { to_peer: null }, { cron: "@daily", fire_at: "2h" }],
  },
  "/deliveries/receipts": {
    kept: [{ drain_id: "drain-1", status: "seen" }, { delivery_ids: [], status: "seen" }],
    broken: [{ status: "seen" }, { status: "seen", drain_id: null }],
  },
  "/peers/{id}/keys": {
    kept: [{ keys: [{ text: "é 1" }, { paste: "a\n\tb" }] }],
    broken: [
      { keys: [{ text: "a\nb" }] },
      { keys: [{ text: "a\u2028b" }] },
      { keys: [{ text: "\u009b" }] },
      { keys: [{ paste: "a\rb" }] },
      { keys: [{ paste: "\u001b[A" }] },
    ],
  },
  "/questions/ask-blocking": {
    kept: [{ ...QUESTION, correlation_id: "toolu_1" }],
    broken: ["qd-1", "askm-1", "inb-1", "notif-1", "many", "history", "pending"]
      .map((correlation_id) => ({ ...QUESTION, correlation_id })),
  },
  "/mcp": {
    kept: [{ jsonrpc: "2.0", id: 1, method: "ping", params: { more: 1 } }],
    broken: [
      { jsonrpc: "2.0", id: 1, method: "ping", more: 1 },
      { jsonrpc: "2.0", id: 1.5, method: "ping" },
      { jsonrpc: "2.0", id: 1, method: "ping", params: { _meta: { progressToken: [] } } },
    ],
  },
};

for (const [path, { kept, broken }] of Object.entries(BODIES)) {
  Deno.test(`the description of ${path} allows a body as the route does`, async () => {
    await using w = world({ settings: { "human.name": "sam" } });
    const { paths, components } = await (await w.fetch("/openapi.json")).json();
    const method = path === "/schedules/{id}" ? "patch" : "post";
    const { schema } = paths[path][method].requestBody.content["application/json"];
    const isDescribed = new AjvJsonSchemaValidator().getValidator({ ...schema, components });
    for (const body of kept) assert(isDescribed(body).valid, JSON.stringify(body));
    for (const body of broken) {
      assert(!isDescribed(body).valid, JSON.stringify(body));
      const response = await w.fetch(path.replace("{id}", "api"), {
        method: method.toUpperCase(),
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      assert([400, 422].includes(response.status), `${JSON.stringify(body)}: ${text}`);
    }
  });
}
