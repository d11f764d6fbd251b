/** `Allow` of every route of the relay. */

import { assertAllowedMethods } from "../../support/allowed_methods.ts";
import { relayFixture } from "../../support/relay/composed_relay.ts";
import { grantToken } from "../../support/relay/mcp_apps.ts";

Deno.test("every route of the relay takes the methods that its 405 allows, and no others", async () => {
  await using at = relayFixture();
  const headers = grantToken(at, "t1");
  const paths = at.features.routes.map(({ contract }) => contract.path);
  await assertAllowedMethods(paths, (method, path) => at.send(path, { method, headers }));
});
