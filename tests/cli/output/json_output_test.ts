/** `--json`: the CLI's output for programs, including refusals. */

import assert from "node:assert/strict";
import { runCli } from "../../../cli.ts";
import { eventRecord } from "../../../cli/output/views.ts";
import { capturedTerminal } from "../../support/cli/captured_output.ts";

const REFUSAL = { error: "unknown_peer", detail: "Unknown peer: bob", hint: "look", peer: "bob" };

Deno.test("--json prints a refusal as the daemon's JSON, besides the text on stderr", async () => {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => Response.json(REFUSAL, { status: 404 }),
  );
  const env = {
    MESH_CONFIG: "/nonexistent/config.yaml",
    MESH_STATE: "/nonexistent",
    MESH_DAEMON__PORT: String(server.addr.port),
  };
  for (const flags of [[], ["--json"]]) {
    const { terminal, lines } = capturedTerminal();
    const args = ["notify", "bob", "hi", "--from", "api", ...flags];
    assert.equal(await runCli(args, env, terminal), 1);
    assert.match(lines.err, /^mesh: Unknown peer: bob\nhint: look\n$/);
    if (flags.length > 0) assert.deepEqual(JSON.parse(lines.out), REFUSAL);
    else assert.equal(lines.out, "");
  }
});

Deno.test("an event is printed flat, as GET /events returns it, and so are stream-only events", () => {
  const data = { id: 7, type: "ask", timestamp: "2030-01-01T00:00:00.000Z", from: "api" };
  assert.deepEqual(eventRecord({ id: "7", type: "ask", data }), data);
  const ready = { id: undefined, type: "ready", data: { last: 7 } };
  assert.deepEqual(eventRecord(ready), { type: "ready", last: 7 });
});
