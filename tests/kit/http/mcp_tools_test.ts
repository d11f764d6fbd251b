/** Tool arguments from foreign clients: nulls, numbers as text, times that are too long. */

import assert from "node:assert/strict";
import * as z from "zod";
import { readArguments } from "kit/http/mcp_tools.ts";
import { grantToken, rawPost, withHeaders } from "../../support/relay/mcp_apps.ts";
import { connectDaemon, registerAgent, relayFixture } from "../../support/relay/composed_relay.ts";
import { world } from "../../support/world.ts";

const INPUT = z.object({
  id: z.string(),
  wait_seconds: z.number().min(0).max(20).optional(),
  limit: z.number().int().min(1).max(500).optional(),
  urgent: z.boolean().optional(),
  note: z.string().nullable().optional(),
});

// deno-fmt-ignore
const TAKEN: [what: string, given: unknown, read: Record<string, unknown>][] = [
  ["what the schema says",          { id: "a", wait_seconds: 5 },               { id: "a", wait_seconds: 5 }],
  ["a time that is too long",       { id: "a", wait_seconds: 30 },              { id: "a", wait_seconds: 20 }],
  ["a time as a text",              { id: "a", wait_seconds: "20" },            { id: "a", wait_seconds: 20 }],
  ["a text of a time too long",     { id: "a", wait_seconds: " 30.5 " },        { id: "a", wait_seconds: 20 }],
  ["nulls for what is left out",    { id: "a", wait_seconds: null, limit: null }, { id: "a" }],
  ["a null that the schema takes",  { id: "a", note: null },                    { id: "a", note: null }],
  ["what Gemini CLI adds",          { id: "a", wait_for_previous: true, _meta: {} }, { id: "a" }],
  ["a boolean as a text",           { id: "a", urgent: "True", limit: "7" },    { id: "a", urgent: true, limit: 7 }],
];
for (const [what, given, read] of TAKEN) {
  Deno.test(`a tool takes ${what}`, () => assert.deepEqual(readArguments(INPUT, given), read));
}

// deno-fmt-ignore
const REFUSED: [what: string, given: unknown, issue: RegExp][] = [
  ["nothing",                     null,                                   /^id: .*string/],
  ["a null for what is needed",   { id: null },                           /^id: .*received null/],
  ["a text that is no number",    { id: "a", wait_seconds: "soon" },      /wait_seconds: .*received string/],
  ["an empty text as a number",   { id: "a", limit: "" },                 /limit: .*received string/],
  ["a time below zero",           { id: "a", wait_seconds: -1 },          /wait_seconds/],
  ["too many, which is no time",  { id: "a", limit: 501 },                /limit: .*500/],
  ["a text of too many",          { id: "a", limit: "501" },              /limit/],
  ["a number for a text",         { id: 7 },                              /id: .*received number/],
  ["an unknown argument",         { id: "a", peer: null },                /^peer: Unknown argument. Allowed: id, wait_seconds, limit, urgent, note$/],
  ["a misspelled argument",       { id: "a", wait_secs: 5 },              /^wait_secs: Unknown argument. Did you mean "wait_seconds"\? Allowed: id, /],
  ["a list",                      [],                                     /./],
];
for (const [what, given, issue] of REFUSED) {
  Deno.test(`a tool refuses ${what}`, () => {
    assert.throws(() => readArguments(INPUT, given), ({ code, fields }) => {
      assert.equal(code, "invalid_request");
      assert.match(fields.summary, issue);
      return true;
    });
  });
}

const message = (method: string, params?: unknown) =>
  rawPost({ jsonrpc: "2.0", id: 1, method, params });
const initialize = (protocolVersion: string) =>
  message("initialize", {
    protocolVersion,
    capabilities: {},
    clientInfo: { name: "app", version: "1" },
  });

Deno.test("the relay's tools take null for no arguments, and a wait as a text or too long [8.relay.get-reply]", async () => {
  await using at = relayFixture();
  const held = grantToken(at, "t1");
  const daemon_id = "dm-000000000001";
  await using w = connectDaemon(at, daemon_id);
  const peer_id = await registerAgent(w, "api");
  const call = async (name: string, args: unknown) => {
    const params = { name, arguments: args };
    let done = false;
    const sent = at.send("/mcp", withHeaders(message("tools/call", params), held))
      .finally(() => done = true);
    while (!done) {
      await at.clock.advance(1000);
      await w.clock.advance(1000);
    }
    const response = await sent;
    assert.equal(response.status, 200);
    return (await response.json()).result;
  };
  assert.equal((await call("list_machines", null)).structuredContent.machines.length, 1);
  const asked = await call("ask_agent", { daemon_id, peer_id, message: "Ready?" });
  const { request_id } = asked.structuredContent;
  for (const wait_seconds of ["0", null, "20", 30]) {
    const { structuredContent, isError } = await call("get_reply", {
      daemon_id,
      request_id,
      wait_seconds,
    });
    assert.deepEqual(
      [structuredContent.status, isError],
      ["pending", undefined],
      String(wait_seconds),
    );
  }
  const refused = await call("get_reply", { daemon_id, request_id, wait_seconds: "soon" });
  assert.equal(refused.isError, true);
  const list = await at.send("/mcp", withHeaders(message("tools/list", null), held));
  assert.equal(list.status, 200);
});

Deno.test("an initialize negotiates a version, whatever its header says, at the relay and the daemon", async () => {
  await using at = relayFixture();
  await using w = world();
  const held = grantToken(at, "t1");
  for (
    const send of [
      (init: RequestInit) => at.send("/mcp", withHeaders(init, held)),
      (init: RequestInit) => w.fetch("/mcp", init),
    ]
  ) {
    for (const header of ["2026-07-28", "2027-01-01", "2024-11-05", "x", undefined]) {
      for (
        const [version, answered] of [
          ["2025-06-18", "2025-06-18"],
          ["2025-11-25", "2025-11-25"],
          ["2027-01-01", "2025-11-25"],
        ] as const
      ) {
        const headers = header === undefined ? undefined : { "mcp-protocol-version": header };
        const init = initialize(version);
        const response = await send(headers ? withHeaders(init, headers) : init);
        assert.equal(response.status, 200, `${header} ${version}`);
        const { result } = await response.json();
        assert.equal(result.protocolVersion, answered, `${header} ${version}`);
      }
    }
    const later = withHeaders(message("tools/list"), { "mcp-protocol-version": "2027-01-01" });
    assert.equal(
      (await send(later)).status,
      400,
      "any other request names a version that is known",
    );
    const nothing = await send(message("tools/call", { name: "list_peers", arguments: null }));
    assert.equal(nothing.status, 200);
  }
});
