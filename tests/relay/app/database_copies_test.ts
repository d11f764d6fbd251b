/** Going back to an older relay: the copy of its database that was made before an update. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { jsonLog } from "kit/core/log.ts";
import { openDatabase, relayMigrations } from "../../../relay/app/database.ts";
import { FakeClock } from "../../support/clock.ts";
import { ISSUER } from "../../support/relay/oauth_world.ts";

Deno.test("an older relay refuses a newer database, and opens the copy that replaces it", () => {
  const dir = Deno.makeTempDirSync();
  try {
    const path = `${dir}/relay.db`;
    const clock = new FakeClock();
    const deps = { clock, log: jsonLog(clock, "error", () => {}) };
    const open = () => openDatabase(path, ISSUER, deps);
    open()[Symbol.dispose]();
    const copy = `${path}.schema-${relayMigrations.length}`;
    Deno.copyFileSync(path, copy);
    {
      using db = new DatabaseSync(path);
      db.exec(`pragma user_version = ${relayMigrations.length + 1}`);
    }
    const version = relayMigrations.length;
    const advice = `or put the copy with version ${version} in its place: "${copy}"`;
    assert.throws(open, (error: Error) => error.message.includes(advice));
    Deno.renameSync(copy, path);
    open()[Symbol.dispose]();
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});
