/**
 * The bus in the form that is shipped: bundled, with the NATS libraries in parts of their own. They
 * are in the CommonJS form, which a bundle exports otherwise than Deno does.
 */

import assert from "node:assert/strict";
import { makeParts } from "../../packaging/parts.ts";
import { natsTest } from "../support/nats/nats_tests.ts";
import { ALPHA, Network } from "../support/nats/network.ts";
import { temporary } from "../support/programs/child.ts";
import { until } from "../support/waiting.ts";

const SOURCES = "daemon/machines/nats";

natsTest("the bundled bus has its libraries: keys, batches, the directory and files", async () => {
  using parts = temporary();
  await makeParts(parts.path, [`${SOURCES}/nats_bus.ts`, `${SOURCES}/nkeys.ts`]);
  const { makeUserKey, publicKeyOf }: typeof import("../../daemon/machines/nats/nkeys.ts") =
    await import(`file://${parts.path}/nkeys.js`);
  const { openNatsBus }: typeof import("../../daemon/machines/nats/nats_bus.ts") = await import(
    `file://${parts.path}/nats_bus.js`
  );

  const key = await makeUserKey();
  assert.equal(await publicKeyOf(key.seed), key.public_key);
  await using network = await Network.start({ tls: true });
  const allowed = await network.server.allow(ALPHA, "laptop", key);
  const ca_path = network.server.ca;
  const laptop = await network.join(allowed, { open: openNatsBus, ca_path });
  await laptop.announce("here");
  await laptop.publish(laptop, "a batch");
  await until("the batch", () => laptop.batches.includes(`${ALPHA} a batch`));
  assert.equal(await laptop.call(laptop, "a call"), `${ALPHA} asked a call`);
  const file = `${ALPHA}.file`;
  await laptop.bus.putFile(file, new TextEncoder().encode("a file"));
  assert.equal(
    new TextDecoder().decode(await laptop.bus.getFile(file, 100) ?? undefined),
    "a file",
  );
});
