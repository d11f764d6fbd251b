import assert from "node:assert/strict";
import { makeUserKey } from "../../../../daemon/machines/nats/nkeys.ts";
import { BusMachine, failure } from "../../../support/nats/bus_machine.ts";
import { makeAuthority } from "../../../support/nats/certificates.ts";
import { ConnectProxy } from "../../../support/net/connect_proxy.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, Network } from "../../../support/nats/network.ts";
import { NatsServer } from "../../../support/nats/nats_server.ts";
import { until } from "../../../support/waiting.ts";

natsTest(
  "batches that a killed server had acknowledged arrive after its restart, once",
  async () => {
    await using network = await Network.start();
    const alpha = await network.machine(ALPHA);
    const later = await network.server.allow(BETA);
    await alpha.publish(BETA, "one");
    await network.server.kill();
    const reason = await alpha.down();
    assert.match(reason, /^The bus at 127\.0\.0\.1:\d+ cannot be used: /);
    await assert.rejects(alpha.publish(BETA, "lost"), failure("unreachable", "no"));
    await network.server.restart();
    const beta = await network.join(later);
    await alpha.waitForConnection();
    await alpha.publish(BETA, "two");
    await until("both batches", () => beta.batches.length >= 2);
    assert.deepEqual(beta.batches, [`${ALPHA} one`, `${ALPHA} two`]);
    assert.deepEqual(alpha.statuses.map(({ status }) => status), [
      "connected",
      "down",
      "connected",
    ]);
  },
);

natsTest("after a restart of the server, batches, calls and the directory work again", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const beta = await network.machine(BETA);
  await network.server.stop();
  await Promise.all([alpha.down(), beta.down()]);
  await network.server.restart();
  await Promise.all([alpha.waitForConnection(), beta.waitForConnection()]);
  await alpha.publish(beta, "one");
  await alpha.announce("laptop");
  await until("the batch", () => beta.batches.length > 0);
  await until("the entry", () => beta.announced.length > 0);
  assert.equal(await alpha.call(beta, "ping"), `${ALPHA} asked ping`);
});

natsTest(
  "a machine that may not create the lost store reports that, and connects once it is created",
  async () => {
    await using network = await Network.start();
    const alpha = await network.machine(ALPHA);
    const beta = await network.machine(BETA);
    await network.server.stop();
    await network.server.loseStore();
    await network.server.restart();
    const reason = /has no store for machines; its operator must make it$/;
    await until("the reason", () => reason.test(alpha.bus.status().reason ?? ""));
    await network.prepareStore();
    await Promise.all([alpha.waitForConnection(), beta.waitForConnection()]);
    await alpha.publish(beta, "one");
    await until("the batch", () => beta.batches.length > 0);
  },
);

natsTest("a machine with full permissions makes the lost store itself", async () => {
  await using network = await Network.start();
  const admin = { ...network.server.admin, daemon_id: ALPHA, name: "laptop" };
  const alpha = await network.join(admin);
  await network.server.stop();
  await network.server.loseStore();
  await network.server.restart();
  await until("the store", async () => {
    await alpha.waitForConnection();
    return await alpha.publish(ALPHA, "one").then(() => true, () => false);
  });
  await until("the batch", () => alpha.batches.length > 0);
});

natsTest("a stream that is removed under the connection is noticed at the next batch", async () => {
  await using network = await Network.start();
  const alpha = await network.machine(ALPHA);
  const admin = await network.connect({ seed: network.server.admin.seed });
  await admin.request("$JS.API.STREAM.DELETE.mesh");
  await until("the reason", async () => {
    await alpha.publish(BETA, "one").catch(() => undefined);
    return alpha.bus.status().reason?.includes("its operator must make it");
  });
  await network.prepareStore();
  await alpha.waitForConnection();
  await alpha.publish(BETA, "one");
});

natsTest("TLS: a certificate of the given authority is trusted, and no other one", async () => {
  await using network = await Network.start({ tls: true });
  const { server } = network;
  const alpha = await network.machine(ALPHA, { ca_path: server.ca });
  assert.ok(await alpha.bus.roundTrip() > 0);
  const other = await server.allow(BETA);
  const dir = await Deno.makeTempDir({ prefix: "mesh-nats-" });
  try {
    const ca_path = await makeAuthority(dir, "other");
    const untrusted = { url: server.url, daemonId: BETA, name: "b", credentials: other };
    for (const options of [{ ...untrusted, ca_path }, untrusted]) {
      await using beta = new BusMachine(options);
      assert.match(await beta.down(), /its certificate is not trusted, because its authority is/);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

natsTest("TLS: a certificate for another host is refused", async () => {
  await using network = await Network.start({ tls: true, options: { host: "0.0.0.0" } });
  const { server } = network;
  const allowed = await server.allow(ALPHA);
  await using alpha = new BusMachine({
    url: `tls://127.0.0.2:${server.port}`,
    daemonId: ALPHA,
    name: "a",
    credentials: allowed,
    ca_path: server.ca,
  });
  assert.match(await alpha.down(), /its certificate is for another host name$/);
});

natsTest(
  "TLS: an expired certificate and one that is not valid yet have different errors, with the clock",
  async () => {
    const reasons = {
      expired: /has expired on 2021-02-03T04:05:06Z \(the clock of this machine says \S+Z\)$/,
      early: /is not valid yet before 2090-01-01T00:00:00Z \(the clock .*\); check the clocks$/,
    } as const;
    for (const fault of ["expired", "early"] as const) {
      await using server = await NatsServer.start({ tls: true, fault });
      await using alpha = new BusMachine({
        url: server.url,
        daemonId: ALPHA,
        name: "a",
        credentials: await server.allow(ALPHA),
        env: { SSL_CERT_FILE: server.ca },
      });
      assert.match(await alpha.down(), reasons[fault]);
    }
  },
);

natsTest(
  "TLS: the bus goes through a proxy, and trusts the authority of the environment",
  async () => {
    await using network = await Network.start({ tls: true });
    const { ca, port } = network.server;
    await using proxy = new ConnectProxy({
      credentials: "me:secret",
      hosts: { "nats.example": "127.0.0.1" },
    });
    const url = `tls://nats.example:${port}`;
    const env = { HTTPS_PROXY: `http://me:secret@${proxy.host}`, SSL_CERT_FILE: ca };
    const alpha = await network.machine(ALPHA, { url, env });
    const beta = await network.machine(BETA, { ca_path: ca });
    await alpha.publish(beta, "one");
    await until("the batch", () => beta.batches.length > 0);
    assert.deepEqual(proxy.asked, [`nats.example:${port}`]);
    await using refusing = new ConnectProxy({ status: 403 });
    const credentials = await network.server.allow("dm-00000000000c");
    await using gamma = new BusMachine({
      url,
      env: { ...env, HTTPS_PROXY: refusing.url },
      daemonId: "dm-00000000000c",
      name: "c",
      credentials,
    });
    assert.match(
      await gamma.down(),
      /HTTPS_PROXY\) refused nats\.example:\d+ \(403\); if the server/,
    );
  },
);

natsTest("a server without TLS is refused at an address that means TLS", async () => {
  await using server = await NatsServer.start();
  const credentials = await server.allow(ALPHA);
  const url = server.url.replace("nats:", "tls:");
  await using alpha = new BusMachine({ url, daemonId: ALPHA, name: "a", credentials });
  assert.match(await alpha.down(), /it does not offer TLS; set it up, or end the address with/);
});

natsTest("an unknown key is reported, and used as soon as the server allows it", async () => {
  await using network = await Network.start();
  const { server } = network;
  const credentials = await makeUserKey();
  await using alpha = new BusMachine({ url: server.url, daemonId: ALPHA, name: "a", credentials });
  assert.match(await alpha.down(), /it does not know this machine's credentials; its operator/);
  await server.allow(ALPHA, "a", credentials);
  await alpha.waitForConnection();
  await server.forbid(ALPHA);
  const unknown = /it does not know this machine's credentials/;
  await until("the reason", () => unknown.test(alpha.bus.status().reason ?? ""));
});

natsTest("a missing server and an unknown host have different errors", async () => {
  const credentials = await makeUserKey();
  const rest = { daemonId: ALPHA, name: "a", credentials };
  await using server = await NatsServer.start();
  await server.stop();
  await using refused = new BusMachine({ url: server.url, ...rest });
  assert.match(await refused.down(), /nothing listens there$/);
  await using unknown = new BusMachine({ url: "tls://nowhere.invalid", ...rest });
  assert.match(await unknown.down(), /the name of its host (?:is unknown|cannot be resolved now)$/);
  await using missing = new BusMachine({
    ...rest,
    url: server.url,
    credentials: { creds_path: "/nowhere/mesh.creds" },
  });
  assert.match(await missing.down(), /a file is missing: .*\/nowhere\/mesh\.creds/);
});

natsTest(
  "with several addresses, the next one is used where the first does not answer",
  async () => {
    await using gone = await NatsServer.start();
    await gone.stop();
    await using network = await Network.start();
    const url = `${gone.url},${network.server.url}`;
    const alpha = await network.machine(ALPHA, { url });
    await network.server.stop();
    const both =
      /:\d+ cannot be used: nothing listens there\. The bus at .* nothing listens there$/;
    await until("both reasons", () => both.test(alpha.bus.status().reason ?? ""));
    await network.server.restart();
    await alpha.waitForConnection();
  },
);
