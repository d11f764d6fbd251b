/** A real agent whose model refuses the request: its turn ends with an error, which is reported. */

import assert from "node:assert/strict";
import { listEvents } from "../../../../daemon/api/events/contract.ts";
import { listPeers } from "../../../../daemon/features/peers/contract.ts";
import { Lab, withLab } from "../../../support/e2e/lab.ts";
import { until } from "../../../support/waiting.ts";

withLab(
  import.meta.url,
  "Claude Code reports an error that ends its turn, and is idle",
  async () => {
    await using lab = new Lab();
    const error = { type: "not_found_error", message: "model: fake-1" };
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => undefined };
    await using refusing = Deno.serve(
      options,
      () => Response.json({ type: "error", error }, { status: 404 }),
    );
    const env = { ANTHROPIC_BASE_URL: `http://127.0.0.1:${refusing.addr.port}` };
    lab.write("home/.claude/settings.json", { ...lab.read("home/.claude/settings.json"), env });
    await lab.mesh.up();
    const claude = await lab.claude("api");
    await claude.sendPrompt("Go on");
    const { call } = lab.mesh;
    const failed = await until("the error", async () => {
      const { events } = await call(listEvents, { query: { type: "turn_failed" } });
      return events[0];
    });
    assert.equal(failed["error"], "model_not_found");
    const { peers } = await call(listPeers, { query: {} });
    assert.deepEqual(peers.map(({ turn_state }) => turn_state), ["idle"]);
  },
);
