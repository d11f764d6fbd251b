/** The launcher's own answers: the version and the help, without a start of mesh. */

import assert from "node:assert/strict";
import { writeLauncher } from "../../packaging/pack.ts";
import { temporary } from "../support/programs/child.ts";
import { meshCommand } from "../support/programs/program.ts";

const decoder = new TextDecoder();

/** A folder with the launcher and, instead of Deno, a program that reports its start. */
function launcherFolder({ hasDeno = true } = {}) {
  const folder = temporary();
  writeLauncher(folder.path);
  if (hasDeno) {
    Deno.mkdirSync(`${folder.path}/node_modules/@deno/here`, { recursive: true });
    const deno = `${folder.path}/node_modules/@deno/here/deno`;
    Deno.writeTextFileSync(deno, "#!/bin/sh\necho started >&2\nexit 99\n", { mode: 0o755 });
  }
  return folder;
}

async function run([program = "", ...args]: readonly string[]) {
  const command = new Deno.Command(program, { args, stdin: "null" });
  const { code, stdout, stderr } = await command.output();
  return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
}

Deno.test("the launcher prints the version and the help to the byte as mesh does, without it", async () => {
  using folder = launcherFolder();
  const mesh = `${folder.path}/mesh`;
  for (const words of [["--version", "-V", "version"], ["--help", "-h", "help"]]) {
    for (const word of words) {
      const answer = await run([mesh, word]);
      assert.deepEqual(answer, await run(meshCommand([word])), word);
      assert.ok(answer.code === 0 && answer.out !== "", word);
    }
  }
});

Deno.test("the launcher starts mesh for any other line, and if it cannot write", async () => {
  using folder = launcherFolder();
  const mesh = `${folder.path}/mesh`;
  const lines = [
    '"$0" --version --machine',
    '"$0" --help peers',
    '"$0" help peers',
    '"$0"',
    '"$0" --version >/dev/full',
    '"$0" --help >/dev/full',
    '"$0" --version >&-',
    'exec 6> >(exit); wait $!; "$0" --version >&6',
    'exec 6> >(exit); wait $!; "$0" --help >&6',
    'env LC_ALL=xx_XX.UTF-8 "$0" peers', // No warning of a locale that this machine lacks.
  ];
  for (const line of lines) {
    const started = { code: 99, out: "", err: "started\n" };
    assert.deepEqual(await run(["bash", "-c", line, mesh]), started, line);
  }
});

Deno.test("a launcher whose Deno is missing does not answer as if mesh worked", async () => {
  using folder = launcherFolder({ hasDeno: false });
  const { code, out, err } = await run([`${folder.path}/mesh`, "--version"]);
  assert.deepEqual([code, out], [1, ""]);
  assert.match(err, /^mesh: the Deno that belongs to it is missing\. Install again: /);
});
