/** The look of the relay's pages. */

import assert from "node:assert/strict";
import { relayFixture } from "../../support/relay/composed_relay.ts";

Deno.test("the relay's pages have the tokens of the dashboard, and a policy for just that style", async () => {
  await using at = relayFixture();
  const response = await at.send("/");
  const policy = response.headers.get("content-security-policy") ?? "";
  const page = await response.text();
  const tokens = Deno.readTextFileSync(
    new URL("../../../dashboard/styles/tokens.css", import.meta.url),
  );
  const declarations = tokens.matchAll(/^ +--[\w-]+: .*;$/gm);
  for (const [declaration] of declarations) assert.ok(page.includes(declaration), declaration);
  assert.match(policy, /style-src 'sha256-[^']+';/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.match(page, /<header><a href="\/"><svg aria-hidden="true"/);
});
