/** `daemon.json`: what a daemon writes, and what readers find. */

import assert from "node:assert/strict";
import {
  readRuntimeFile,
  runningDaemon,
  writeRuntimeFile,
} from "../../../daemon/host/runtime_file.ts";

const INFO = { pid: Deno.pid, url: "http://127.0.0.1:9", started_at: "2030-01-01T00:00:00.000Z" };

const made: string[] = [];
Deno.test.afterAll(() => made.forEach((dir) => Deno.removeSync(dir, { recursive: true })));

/** A state directory with this text as its `daemon.json`. */
function stateWith(text?: string): Record<string, string> {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-runtime-" });
  made.push(dir);
  if (text !== undefined) Deno.writeTextFileSync(`${dir}/daemon.json`, text);
  return { MESH_STATE: dir };
}

Deno.test("readers find what a daemon wrote, and the file is private", () => {
  const env = stateWith();
  assert.equal(readRuntimeFile(env), undefined);
  for (const info of [INFO, { ...INFO, approval_seconds: 30 }]) {
    writeRuntimeFile(env, info);
    assert.deepEqual(readRuntimeFile(env), info);
    assert.deepEqual(runningDaemon(env), info);
  }
  assert.equal((Deno.statSync(`${env["MESH_STATE"]}/daemon.json`).mode ?? 0) & 0o777, 0o600);
});

Deno.test("a daemon that is dead is not found", async () => {
  const child = new Deno.Command("true").spawn();
  await child.status;
  const env = stateWith(JSON.stringify({ ...INFO, pid: child.pid }));
  assert.equal(readRuntimeFile(env), undefined);
});

const MALFORMED = [
  ...["", "{ half", "null", "7", "[]", "{}"],
  ...[{ pid: "1" }, { pid: 0 }, { pid: 1.5 }, { url: "here" }, { url: 7 }, { started_at: 7 }]
    .map((wrong) => JSON.stringify({ ...INFO, ...wrong })),
];

Deno.test("a malformed file names no daemon", () => {
  for (const text of MALFORMED) {
    const env = stateWith(text);
    assert.equal(readRuntimeFile(env), "malformed", text);
    assert.equal(runningDaemon(env), undefined, text);
  }
});
