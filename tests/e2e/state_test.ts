/** A state directory that cannot be used: the daemon says so in a sentence, and ends. */

import assert from "node:assert/strict";
import { join } from "node:path";

const HOUSE = join(import.meta.dirname ?? ".", "..", "..");

/** What a daemon says on this state before it ends. */
async function startOn(state: string) {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--cached-only", join(HOUSE, "main.ts"), "daemon"],
    env: { MESH_STATE: state, MESH_CONFIG: "/nonexistent.yaml", MESH_DAEMON__PORT: "0" },
    stdout: "null",
    signal: AbortSignal.timeout(20_000),
  }).output();
  return { code, said: new TextDecoder().decode(stderr) };
}

Deno.test("a database that is none, and a directory that is none, are named and left alone", async () => {
  const dir = Deno.makeTempDirSync();
  try {
    const db = join(dir, "mesh.db"), file = join(dir, "file");
    for (const path of [db, file]) Deno.writeTextFileSync(path, "not a database");
    const broken = await startOn(dir), none = await startOn(file);
    assert.deepEqual([broken.code, none.code], [1, 1]);
    assert.match(broken.said, /^Cannot open .*mesh\.db: .*; MESH_STATE names another directory\n$/);
    assert.match(
      none.said,
      /^Cannot keep state in .*file: .*; MESH_STATE names another directory\n$/,
    );
    assert.equal(Deno.readTextFileSync(db), "not a database");
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});
