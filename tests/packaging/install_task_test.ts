/** `deno task install`: the program on the PATH, from these sources. */

import assert from "node:assert/strict";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { VERSION } from "kit/core/version.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

function run(program: string, args: readonly string[], options: Deno.CommandOptions): string {
  const { success, stdout, stderr } = new Deno.Command(program, { args: [...args], ...options })
    .outputSync();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

Deno.test("deno task install puts a mesh on the PATH that runs from any folder", () => {
  const dir = Deno.makeTempDirSync({ prefix: "mesh-install-" });
  try {
    const env = {
      HOME: dir,
      PATH: `${dirname(Deno.execPath())}:/usr/bin:/bin`,
      DENO_INSTALL_ROOT: dir,
    };
    run(Deno.execPath(), ["task", "install"], { cwd: ROOT, env });
    const options = { cwd: "/", env, clearEnv: true };
    assert.equal(run(`${dir}/bin/mesh`, ["--version"], options), VERSION);
    const { installation, update, program } = JSON.parse(
      run(`${dir}/bin/mesh`, ["update", "--json"], options),
    );
    assert.deepEqual([installation, update], ["sources", "git pull && deno task install"]);
    assert.equal(program, `${ROOT}dist/parts/main.js`);
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});
