/** The API description passes the linter of Redocly without errors and warnings. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { readDescription } from "../../golden_files/openapi.ts";
import { temporary } from "../../support/programs/child.ts";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
/** The linter has a lock file of its own, because no user needs to install it. */
const CONFIG = `${ROOT}tests/e2e/openapi/redocly.json`;
const LINTER = "npm:@redocly/cli@2.77.0";

function lint(file: string): { errors: number; warnings: number } {
  // `GET /` leads elsewhere and has no 2xx response; every other route has one by its schema.
  const skipped = ["--skip-rule", "operation-2xx-response"];
  const rules = ["--extends", "recommended", ...skipped, "--format", "json"];
  const { stdout, stderr } = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", CONFIG, LINTER, "lint", ...rules, file],
    env: { REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" },
  }).outputSync();
  const decoder = new TextDecoder();
  const text = decoder.decode(stdout);
  const [json] = /^\{\n[^]*^\}/m.exec(text) ?? [];
  assert.ok(json, `${text}${decoder.decode(stderr)}`);
  return JSON.parse(json).totals;
}

Deno.test("redocly lint finds nothing in the API description, and finds a fault in a broken one", async () => {
  using folder = temporary();
  const file = `${folder.path}/openapi.json`;
  const description = await readDescription();
  Deno.writeTextFileSync(file, JSON.stringify(description));
  const { errors, warnings } = lint(file);
  assert.deepEqual([errors, warnings], [0, 0]);
  Deno.writeTextFileSync(file, JSON.stringify({ ...description, servers: undefined }));
  assert.ok(lint(file).errors > 0);
});
