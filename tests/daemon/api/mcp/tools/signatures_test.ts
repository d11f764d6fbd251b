/** The arguments of each message tool, and its annotations. */

import assert from "node:assert/strict";
import { connect, mcpFixture, PROTOCOL_VERSIONS } from "../../../../support/daemon/mcp_server.ts";

/** Only reads; changes something; sends something new with each call. */
type ToolEffect = "looks" | "settles" | "says";

/** From contract 6; a question mark marks an optional argument. */
// deno-fmt-ignore
const SIGNATURES: [tool: string, effect: ToolEffect, takes: string][] = [
  ["ask",             "says",    "peer message circle? attachments? reply_to? urgent? budget? prove? options? idempotency_key? wait_seconds?"],
  ["wait_on_ack",     "settles", "correlation_id timeout_seconds?"],
  ["ask_many",        "says",    "peers message circle? timeout_seconds? budget? prove? idempotency_key?"],
  ["ask_many_result", "looks",   "parent_id"],
  ["ack",             "says",    "correlation_id message? option_id? attachments? claims? reply_all?"],
  ["decline",         "says",    "correlation_id reason"],
  ["answer",          "says",    "correlation_id option_id? text? outcome? message?"],
  ["list_asks",       "looks",   "direction? state?"],
  ["notify_peer",     "says",    "peer message attachments? circle? urgent? idempotency_key?"],
  ["broadcast",       "says",    "message circle? tag? urgent? idempotency_key?"],
  ["list_peers",      "looks",   "circle?"],
  ["whoami",          "looks",   ""],
  ["set_description", "settles", "description"],
  ["set_name",        "settles", "name"],
  ["job_list",        "looks",   "state? mine? limit?"],
  ["job_status",      "looks",   "job_id"],
  ["job_update",      "settles", "job_id attempt_id? state? phase? state_reason? progress? progress_note? result_summary? error?"],
  ["job_result",      "looks",   "job_id"],
  ["search_messages", "looks",   "query? peer? with? kind? since? until? limit? cursor?"],
  ["read_transcript", "looks",   "peer last? grep? before? circle?"],
  ["read_changes",    "looks",   "peer file? circle?"],
  ["blame",           "looks",   "file line last?"],
  ["schedule_create", "says",    "peer message kind? fire_at? cron? timezone? circle? idempotency_key?"],
  ["schedule_list",   "looks",   "state? peer? mine?"],
];

for (const protocolVersion of PROTOCOL_VERSIONS) {
  Deno.test(`${protocolVersion}: the tools take the arguments of contract 6, and declare their effects`, async () => {
    await using at = await connect(mcpFixture().fetch, { protocolVersion });
    const { tools } = await at.client.listTools();
    for (const [name, effect, takes] of SIGNATURES) {
      const tool = tools.find((tool) => tool.name === name);
      const { properties = {}, required = [] } = tool?.inputSchema ?? {};
      const taken = Object.keys(properties).map((key) => required.includes(key) ? key : `${key}?`);
      assert.equal(taken.join(" "), takes, name);
      const { readOnlyHint, idempotentHint, destructiveHint, openWorldHint } = tool?.annotations ??
        {};
      const isReadOnly = effect === "looks", isIdempotent = effect !== "says";
      assert.deepEqual([readOnlyHint, idempotentHint], [isReadOnly, isIdempotent], name);
      assert.deepEqual([destructiveHint, openWorldHint], [false, false], name);
    }
  });

  Deno.test(`${protocolVersion}: every tool refuses an argument that it does not have, and names it`, async () => {
    await using at = await connect(mcpFixture().fetch, { protocolVersion });
    const { tools } = await at.client.listTools();
    for (const { name, inputSchema } of tools) {
      const known = Object.keys(inputSchema.properties ?? {});
      const { data } = await at.call(name, { zzzz: 1 });
      const list = known.length === 0 ? "The tool takes none" : `Allowed: ${known.join(", ")}`;
      assert.equal(data["error"], "invalid_request", name);
      assert.equal(data["detail"], `Invalid request: zzzz: Unknown argument. ${list}`);
      assert.equal(inputSchema["additionalProperties"], false);
    }
  });
}
