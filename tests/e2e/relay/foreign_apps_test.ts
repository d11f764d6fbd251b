/** Apps of others at the relay, by `deno task apps`: here those that need the least time. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { APPS } from "../../apps/clients.ts";
import { runApp, STEPS } from "../../apps/session.ts";
import { ALL_AGENTS } from "../../support/e2e/lab.ts";
import { OAuthRelay } from "../../support/e2e/oauth_lab.ts";

/** The two kinds whose refresh names no resource. */
const SHORT = ["Go SDK, x/oauth2", "Authlib"];

const dir = Deno.makeTempDirSync({ prefix: "mesh-apps-" });
globalThis.addEventListener("unload", () => Deno.removeSync(dir, { recursive: true }));

for (const { name, packages, install } of APPS) {
  if (!ALL_AGENTS && !SHORT.includes(name)) continue;
  const installed = install(join(dir, name), packages);
  const skipped = "skipped" in installed;
  Deno.test({
    name: skipped
      ? `${name} (skipped: ${installed.skipped})`
      : `${name} logs in, calls tools, refreshes, is revoked, and reads only [4.oauth.foreign] [c11.oauth.resource] [c11.oauth.read-only]`,
    ignore: skipped,
    fn: async () => {
      if (skipped) return;
      await using relay = await OAuthRelay.start();
      const outcome = await runApp(relay, installed);
      assert.deepEqual([...outcome], STEPS.map((step) => [step, "ok"]));
    },
  });
}
