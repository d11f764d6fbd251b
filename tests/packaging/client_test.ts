/** The packages of the clients. */

import assert from "node:assert/strict";
import { VERSION } from "kit/core/version.ts";
import manifest from "../../clients/typescript/package.json" with { type: "json" };

Deno.test("the clients have the version of mesh, and only the declared dependencies", () => {
  const project = Deno.readTextFileSync(
    new URL("../../clients/python/pyproject.toml", import.meta.url),
  );
  assert.equal(manifest.version, VERSION);
  assert.match(project, new RegExp(`^version = "${VERSION.replaceAll(".", "\\.")}"$`, "m"));
  assert.ok(!("dependencies" in manifest));
  assert.match(project, /^dependencies = \["websockets>=\d+"\]$/m);
});
