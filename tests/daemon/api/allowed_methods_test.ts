/** `Allow` of every route of the daemon, called directly and through the tunnel of its relay. */

import { getOpenapi } from "protocol/api/events.ts";
import { assertAllowedMethods } from "../../support/allowed_methods.ts";
import { world } from "../../support/world.ts";

Deno.test("every route takes the methods that its 405 allows, HEAD included, and no others", async () => {
  await using w = world();
  const { paths } = await w.call(getOpenapi, {});
  await assertAllowedMethods(Object.keys(paths as object), async (method, path) => {
    const sent = w.fetch(path, { method, ...(method === "POST" && { body: "{}" }) });
    return await Promise.race([
      sent,
      w.clock.settle().then(() => w.clock.settle()).then(() => undefined),
    ]);
  });
});
