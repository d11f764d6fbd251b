/** An unusable state directory: the daemon names the reason in a sentence, and ends. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { meshArguments } from "../../support/programs/program.ts";

const PRIVATE = { mode: 0o600 };

/** The output of a daemon on this state before it ends. */
async function startOn(state: string, config = "/nonexistent.yaml") {
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: meshArguments(["daemon"]),
    env: { MESH_STATE: state, MESH_CONFIG: config, MESH_DAEMON__PORT: "0" },
    stdout: "null",
    signal: AbortSignal.timeout(20_000),
  }).output();
  return { code, output: new TextDecoder().decode(stderr) };
}

Deno.test("a file that is no database, and a state that is no directory, are named and left alone", async () => {
  const dir = Deno.makeTempDirSync();
  try {
    const db = join(dir, "mesh.db"), file = join(dir, "file");
    for (const path of [db, file]) Deno.writeTextFileSync(path, "not a database", PRIVATE);
    const broken = await startOn(dir), none = await startOn(file);
    assert.deepEqual([broken.code, none.code], [1, 1]);
    assert.match(
      broken.output,
      /^Cannot open .*mesh\.db: .*; set MESH_STATE to use another directory\n$/,
    );
    assert.match(
      none.output,
      /^Cannot keep state in .*file: .*; set MESH_STATE to use another directory\n$/,
    );
    assert.equal(Deno.readTextFileSync(db), "not a database");
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});

Deno.test("a start closes files that other users could read, and logs each path once", async () => {
  const dir = Deno.makeTempDirSync();
  try {
    const state = join(dir, "state"), config = join(dir, "config.yaml");
    Deno.mkdirSync(state);
    Deno.writeTextFileSync(join(state, "mesh.db"), "not a database");
    Deno.writeTextFileSync(config, "daemon: {auth_token: tok_0123456789}");
    Deno.chmodSync(state, 0o755);
    Deno.chmodSync(join(state, "mesh.db"), 0o644);
    Deno.chmodSync(config, 0o644);
    const { output } = await startOn(state, config); // It ends at the database.
    const modes = [state, join(state, "mesh.db"), config].map((path) => Deno.statSync(path).mode);
    assert.deepEqual(modes.map((mode) => (mode ?? 0) & 0o777), [0o700, 0o600, 0o600]);
    const warned = output.split("\n").filter((line) => line.includes('"warn"'));
    assert.equal(warned.length, 3, output);
    assert.ok(!output.includes("tok_"));
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});

Deno.test({
  name: "a start refuses a configuration and a state directory of another user",
  ignore: Deno.uid() !== 0, // Only root can give a file away.
  async fn() {
    const dir = Deno.makeTempDirSync();
    try {
      const state = join(dir, "state"), config = join(dir, "config.yaml");
      Deno.mkdirSync(state, { mode: 0o700 });
      Deno.writeTextFileSync(config, "jobs: {checks: {x: {argv: [id]}}}", { mode: 0o644 });
      Deno.chownSync(config, 65_534, 65_534);
      const second = await startOn(state, config);
      assert.equal(second.code, 2);
      assert.match(second.output, /config\.yaml belongs to user 65534, and this program runs as/);
      Deno.chownSync(config, 0, 0);
      Deno.chownSync(state, 65_534, 65_534);
      const kept = await startOn(state, config);
      assert.equal(kept.code, 1);
      assert.match(
        kept.output,
        /state belongs to user 65534, .*set MESH_STATE to use another directory/,
      );
      assert.deepEqual([...Deno.readDirSync(state)], [], "nothing was written there");
    } finally {
      Deno.removeSync(dir, { recursive: true });
    }
  },
});
