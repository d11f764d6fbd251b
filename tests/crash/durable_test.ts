/** The storage kit alone: a row is there once after a kill if `durable()` resolved for it. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { spawn, temporary } from "../support/programs/child.ts";
import { TextLineStream } from "../support/programs/lines.ts";

const LINES_BEFORE_KILL = 2000;

Deno.test("a row is there once after a kill if durable() resolved for it", async () => {
  using state = temporary();
  const path = `${state.path}/torn.db`;
  const child = spawn(["run", "-A", `${import.meta.dirname}/durable_child.ts`, path], {
    stdout: "piped",
  });
  const reported: number[] = [];
  for await (const line of child.stdout.pipeThrough(new TextLineStream())) {
    if (/^\d+$/.test(line)) reported.push(Number(line));
    if (reported.length === LINES_BEFORE_KILL) child.kill("SIGKILL");
  }
  await child.status;
  reported.pop(); // The last line may be incomplete.
  using db = new DatabaseSync(path);
  const rows = db.prepare("select id from rows").all().map(({ id }) => Number(id));
  const committed = new Set(rows);
  assert.ok(reported.length >= LINES_BEFORE_KILL - 1);
  assert.deepEqual(reported.filter((id) => !committed.has(id)), []);
  assert.equal(committed.size, rows.length);
  assert.equal(db.prepare("pragma integrity_check").get()?.["integrity_check"], "ok");
});
