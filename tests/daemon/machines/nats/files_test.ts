import assert from "node:assert/strict";
import { Base64UrlPaddedCodec, Objm } from "@nats-io/obj";
import { type Clock, systemClock } from "kit/core/clock.ts";
import { timeout } from "kit/core/timeout.ts";
import { failure } from "../../../support/nats/bus_machine.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { TEST_LIMITS } from "../../../support/nats/nats_server.ts";
import { ALPHA, BETA, Network } from "../../../support/nats/network.ts";

const NAME = `${ALPHA}.file`;

const bytesOf = (count: number, seed = 1) =>
  Uint8Array.from({ length: count }, (_, index) => (index * 31 + seed) % 251);

natsTest("a file is read by another machine, whatever its size", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  for (const size of [0, 1, 128 << 10, (128 << 10) + 1, 1_000_000]) {
    await alpha.bus.putFile(`${ALPHA}.file-${size}`, bytesOf(size));
    assert.deepEqual(await beta.bus.getFile(`${ALPHA}.file-${size}`, 2_000_000), bytesOf(size));
  }
  await alpha.bus.putFile(`${ALPHA}.file-1`, bytesOf(10, 2));
  assert.deepEqual(await beta.bus.getFile(`${ALPHA}.file-1`, 2_000_000), bytesOf(10, 2));
});

natsTest("a file is an object of the store for other NATS clients as well", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  await alpha.bus.putFile(NAME, bytesOf(200_000));
  const admin = await network.connect({ seed: network.server.admin.seed });
  const store = await new Objm(admin).open("mesh_files");
  const [info] = await store.list();
  assert.equal(info?.name, NAME);
  assert.equal(info?.chunks, 1);
  assert.deepEqual(await store.getBlob(NAME), bytesOf(200_000));
});

natsTest(
  "a file that was removed, or never was, is null; only its machine removes it",
  async () => {
    await using network = await Network.start();
    const alpha = await network.machine(ALPHA);
    const beta = await network.machine(BETA);
    assert.equal(await beta.bus.getFile(NAME, 2_000_000), null);
    await beta.bus.deleteFile(NAME);
    await alpha.bus.putFile(NAME, bytesOf(1_000_000));
    await assert.rejects(beta.bus.deleteFile(NAME), failure("not_permitted", "no"));
    assert.deepEqual(await beta.bus.getFile(NAME, 2_000_000), bytesOf(1_000_000));
    await alpha.bus.deleteFile(NAME);
    assert.equal(await beta.bus.getFile(NAME, 2_000_000), null);
    await alpha.bus.deleteFile(NAME);
    const admin = await network.connect({ seed: network.server.admin.seed });
    const { size } = await (await new Objm(admin).open("mesh_files")).status();
    assert.ok(size < 10_000, `${size} bytes are left`);
  },
);

/** Records of files without bytes, and of links to other files, as a machine can write them. */
const EMPTY_RECORDS = {
  "without bytes": { nuid: `${ALPHA}.0000000000000000`, size: 10, chunks: 1 },
  "that is a link to itself": {
    nuid: ALPHA,
    size: 10,
    chunks: 1,
    options: { link: { bucket: "mesh_files", name: `${ALPHA}.file` } },
  },
};

for (const [what, record] of Object.entries(EMPTY_RECORDS)) {
  natsTest(`a file ${what} does not hold up the machine that fetches it`, async () => {
    await using network = await Network.start();
    const alpha = await network.server.allow(ALPHA);
    const clock: Clock = {
      ...systemClock,
      setTimer: (ms, callback) => systemClock.setTimer(Math.min(ms, 500), callback),
    };
    const beta = await network.machine(BETA, { clock });
    const name = `${ALPHA}.file`;
    const connection = await network.connect(alpha);
    const digest = `SHA-256=${"A".repeat(43)}=`;
    const meta = { name, bucket: "mesh_files", digest, mtime: "", ...record };
    const subject = `$O.mesh_files.M.${Base64UrlPaddedCodec.encode(name)}`;
    await connection.request(subject, JSON.stringify(meta));
    const got = beta.bus.getFile(name, 1000).catch((error) => error.reason);
    const outcome = await timeout(systemClock, 5000, got.then((value) => ({ value })));
    assert.ok(outcome, "It still waits");
    assert.ok(outcome.value === null || outcome.value === "failed", String(outcome.value));
  });
}

natsTest("a full store refuses a file", async () => {
  await using network = await Network.start({ limits: { ...TEST_LIMITS, files_bytes: 1 << 20 } });
  const alpha = await network.machine(ALPHA);
  await assert.rejects(alpha.bus.putFile(NAME, bytesOf(2_000_000)), failure("full", "no"));
  assert.equal(await alpha.bus.getFile(NAME, 2_000_000), null);
});

natsTest("a file that was changed at the bus is not handed out", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  await alpha.bus.putFile(NAME, bytesOf(1000));
  const admin = await network.connect({ seed: network.server.admin.seed });
  const info = await (await new Objm(admin).open("mesh_files")).info(NAME);
  await admin.request(`$O.mesh_files.C.${info?.nuid}`, bytesOf(1000, 2));
  await assert.rejects(alpha.bus.getFile(NAME, 2_000_000), failure("failed"));
});

natsTest("a name with other characters is refused", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  await assert.rejects(alpha.bus.putFile("a file", bytesOf(1)), failure("failed", "no"));
});

natsTest("a file that is larger than the reader takes is refused", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  await alpha.bus.putFile(NAME, bytesOf(1001));
  await assert.rejects(alpha.bus.getFile(NAME, 1000), failure("too_large", "no"));
});
