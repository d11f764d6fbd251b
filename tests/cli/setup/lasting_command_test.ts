/** The command that agents call, when mesh runs from a package cache. */

import assert from "node:assert/strict";
import { VERSION } from "kit/core/version.ts";
import { lastingCommand } from "../../../cli/setup/lasting_command.ts";

const CACHED = ["/home/sam/.npm/_npx/1f/node_modules/deno/deno", "run", "-A", "/src/main.ts"];

/** A folder with a program `mesh` that prints a version. */
class Folder implements Disposable {
  readonly dir = Deno.makeTempDirSync({ prefix: "mesh-path-" });
  readonly mesh = `${this.dir}/mesh`;

  constructor(version: string) {
    Deno.writeTextFileSync(this.mesh, `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.dir, { recursive: true });
  }
}

Deno.test("a command outside of package caches is used as it is", async () => {
  const own = ["/usr/local/bin/mesh"];
  assert.deepEqual(await lastingCommand({ PATH: "" }, { replace: true, own }), {
    command: own,
    is_cached: false,
  });
});

Deno.test("a command in a package cache is replaced by an installed mesh of this version", async () => {
  using folder = new Folder(VERSION);
  const found = await lastingCommand({ PATH: `/nonexistent:${folder.dir}` }, {
    replace: true,
    own: CACHED,
  });
  assert.deepEqual([found.command, found.is_cached], [[folder.mesh], false]);
  assert.equal(found.warning, undefined);
  assert.match(found.note ?? "", /^the agents call .*\/mesh, because .* a package cache /);
});

Deno.test("without an installed mesh of this version, the warning says how to install one", async () => {
  using folder = new Folder("0.0.0-other");
  const found = await lastingCommand({ PATH: folder.dir }, { replace: true, own: CACHED });
  assert.deepEqual([found.command, found.is_cached], [CACHED, true]);
  assert.match(found.warning ?? "", /npm install -g agent-mesh, then run: mesh setup$/);
});

Deno.test("where nobody can be asked, the installed mesh is named and not used", async () => {
  using folder = new Folder(VERSION);
  const found = await lastingCommand({ PATH: folder.dir }, { replace: false, own: CACHED });
  assert.deepEqual([found.command, found.is_cached], [CACHED, true]);
  assert.match(found.warning ?? "", /Run instead: .*\/mesh setup$/);
});
