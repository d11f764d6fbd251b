import assert from "node:assert/strict";
import {
  addMachine,
  removeMachine,
  serverConfig,
  type ServerOptions,
} from "../../../../daemon/machines/nats/server_config.ts";
import { BusError } from "../../../../daemon/machines/bus.ts";
import { jetstreamManager } from "@nats-io/jetstream";
import { parseAddresses } from "../../../../daemon/machines/nats/addresses.ts";
import { connectTo } from "../../../../daemon/machines/nats/connection.ts";
import { makeUserKey } from "../../../../daemon/machines/nats/nkeys.ts";
import { BusMachine } from "../../../support/nats/bus_machine.ts";
import { natsTest } from "../../../support/nats/nats_tests.ts";
import { ALPHA, BETA, Network } from "../../../support/nats/network.ts";
import { NatsServer } from "../../../support/nats/nats_server.ts";
import { until } from "../../../support/waiting.ts";

const LAPTOP = { daemon_id: ALPHA, name: "laptop", public_key: "UAAA" };
const OPTIONS: ServerOptions = {
  server_name: "home",
  host: "127.0.0.1",
  port: 4222,
  admin_key: "UADMIN",
  machines: [LAPTOP],
};

Deno.test("a machine is added once, with its last key, and removed", () => {
  const desktop = { daemon_id: BETA, name: "desktop", public_key: "UBBB" };
  const renewed = { ...LAPTOP, public_key: "UCCC" };
  const machines = [LAPTOP, desktop, renewed].reduce(addMachine, []);
  assert.deepEqual(machines, [desktop, renewed]);
  assert.deepEqual(removeMachine(machines, BETA), [renewed]);
});

Deno.test("a machine's permissions name only itself where it writes", () => {
  const text = serverConfig(OPTIONS);
  assert.match(text, /"mesh\.batch\.\*\.dm-00000000000a"/);
  assert.doesNotMatch(text, /allow_responses|STREAM\.(?:CREATE|UPDATE|DELETE|PURGE)/);
});

Deno.test("an id with a wildcard, and a text with a line break, are refused", () => {
  const configOf = (options: Partial<ServerOptions>) => () =>
    serverConfig({ ...OPTIONS, ...options });
  assert.throws(configOf({ machines: [{ ...LAPTOP, daemon_id: "*" }] }), /Not a daemon id: "\*"/);
  assert.throws(configOf({ server_name: "a\nport: 1" }), /may not hold control characters/);
  const named = serverConfig({ ...OPTIONS, machines: [{ ...LAPTOP, name: "x\n}\nport: 1" }] });
  assert.doesNotMatch(named, /^\s*port: 1$/m);
});

natsTest("a name with quotes, backslashes and dollars reaches the server as it is", async () => {
  await using server = await NatsServer.start({ options: { server_name: `"a" \\ $b ü` } });
  assert.equal(await server.infoName(), `"a" \\ $b ü`);
});

/** A hub with a machine, and a leaf node, which has no store of its own, with another one. */
async function hubAndLeaf() {
  await using stack = new AsyncDisposableStack();
  const leaf_hub = { host: "127.0.0.1", port: -1, user: "leaf", password: "pass@word" };
  const network = stack.use(await Network.start({ tls: true, options: { leaf_hub } }));
  const { server: hub } = network;
  const leaf_of = { ...leaf_hub, hub: `127.0.0.1:${hub.leafPort}`, ca: hub.ca };
  const options = { server_name: "leaf", leaf_of };
  const leaf = stack.use(await NatsServer.start({ options, storeless: true }));
  const alpha = await network.machine(ALPHA, { ca_path: hub.ca });
  const beta = stack.use(await BusMachine.join(leaf, await leaf.allow(BETA)));
  const owned = stack.move();
  return { hub, leaf, alpha, beta, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

natsTest("machines at a leaf node reach those of the hub, over TLS", async () => {
  await using at = await hubAndLeaf();
  const { alpha, beta } = at;
  await alpha.publish(beta, "down");
  await beta.publish(alpha, "up");
  await until("both", () => alpha.batches.length + beta.batches.length === 2);
  assert.equal(await alpha.call(beta, "ping"), `${ALPHA} asked ping`);
  assert.equal(await beta.call(alpha, "ping"), `${BETA} asked ping`);
  await beta.announce("at the leaf");
  await until("the entry", () => alpha.announced.includes(`${BETA} at the leaf`));
  await beta.bus.putFile(`${BETA}.file`, new Uint8Array(300_000));
  assert.equal((await alpha.bus.getFile(`${BETA}.file`, 2_000_000))?.length, 300_000);
});

natsTest("a leaf node without its hub is down, and works again when the hub is back", async () => {
  await using at = await hubAndLeaf();
  const { alpha, beta } = at;
  await at.hub.kill();
  await until("the failure", async () => {
    const error = await beta.publish(alpha, "one").then(() => undefined, (error) => error);
    return error instanceof BusError && error.reason === "unreachable" && error.stored === "no";
  });
  const reason = /JetStream is off there, or its hub cannot be reached$/;
  await until("the reason", () => reason.test(beta.bus.status().reason ?? ""));
  await at.hub.restart();
  await Promise.all([alpha.waitForConnection(), beta.waitForConnection()]);
  await beta.publish(alpha, "two");
  await until("the batch", () => alpha.batches.length > 0);
});

natsTest(
  "three servers of a cluster keep three copies of the batches",
  async () => {
    const admin = await makeUserKey();
    const cluster = { name: "mesh", host: "127.0.0.1", port: -1, user: "route", password: "p w" };
    const limits = { batches_bytes: 4 << 20, files_bytes: 4 << 20, directory_bytes: 1 << 20 };
    const setup = { admin, limits: { ...limits, replicas: 3 } };
    const member = (server_name: string, routes: string[]) =>
      NatsServer.start({ ...setup, options: { server_name, cluster: { ...cluster, routes } } });
    // The first one needs some route; the others tell it theirs.
    await using first = await member("one", ["127.0.0.1:1"]);
    const routes = [`127.0.0.1:${first.clusterPort}`];
    await using second = await member("two", routes);
    await using third = await member("three", routes);
    const servers = [first, second, third];
    const key = await makeUserKey();
    for (const server of servers) await server.allow(ALPHA, "laptop", key);
    const url = servers.map(({ url }) => url).join(",");
    await using alpha = new BusMachine({
      url,
      credentials: { seed: admin.seed },
      daemonId: ALPHA,
      name: "laptop",
      limits: setup.limits,
    });
    // The servers elect a leader first.
    await until("the cluster", () => alpha.bus.status().status === "connected");
    await alpha.publish(alpha, "before");
    await until("the batch", () => alpha.batches.length === 1);
    const [address] = parseAddresses(third.url);
    assert.ok(address);
    const connection = await connectTo(address, {
      credentials: admin,
      daemonId: "admin",
      name: "",
    });
    const info = await (await jetstreamManager(connection)).streams.info("mesh");
    await connection.close();
    const { leader, replicas = [] } = info.cluster ?? {};
    const names = [leader, ...replicas.map(({ name }) => name)];
    assert.deepEqual(names.toSorted(), ["one", "three", "two"]);
  },
);
