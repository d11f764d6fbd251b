/** The API description passes the linter of Redocly without errors and warnings. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

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

Deno.test("redocly lint finds nothing in the API description, and finds a fault in a broken one", () => {
  const file = `${ROOT}tests/golden/openapi.json`;
  const { errors, warnings } = lint(file);
  assert.deepEqual([errors, warnings], [0, 0]);
  const dir = Deno.makeTempDirSync();
  try {
    const { servers: _, ...broken } = JSON.parse(Deno.readTextFileSync(file));
    Deno.writeTextFileSync(`${dir}/openapi.json`, JSON.stringify(broken));
    assert.ok(lint(`${dir}/openapi.json`).errors > 0);
  } finally {
    Deno.removeSync(dir, { recursive: true });
  }
});
