/** Records of Copilot CLI's sessions are read when something was written to them. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { SessionRecords } from "../../../../../daemon/features/agents/copilot/sessions.ts";

const ID = "0a1b2c3d-0000-4000-8000-000000000001";

Deno.test("a session's records are read again only once something was written to them", () => {
  const config_dir = Deno.makeTempDirSync({ prefix: "mesh-copilot-" });
  try {
    const folder = join(config_dir, "session-state", ID);
    Deno.mkdirSync(folder, { recursive: true });
    Deno.writeTextFileSync(join(folder, `inuse.${Deno.pid}.lock`), "");
    const path = join(folder, "events.jsonl");
    const write = (type: string, written_at: number) => {
      const record = { type, data: {}, timestamp: "2026-11-21T12:00:00Z" };
      Deno.writeTextFileSync(path, `${JSON.stringify(record)}\n`);
      Deno.utimeSync(path, written_at, written_at);
    };
    const records = new SessionRecords(config_dir);
    const turn = () => records.activityOf(ID, Deno.pid)?.turn_state;
    write("session.resume", 1_000);
    assert.equal(turn(), "idle");
    write("assistant.said", 1_000);
    assert.equal(turn(), "idle", "nothing tells that they have changed");
    Deno.utimeSync(path, 1_001, 1_001);
    assert.equal(turn(), null, "what was said tells of no turn");
    write("user.message", 1_001);
    assert.equal(turn(), "working", "they are of another length");
    Deno.removeSync(path);
    assert.equal(turn(), undefined);
  } finally {
    Deno.removeSync(config_dir, { recursive: true });
  }
});
