/** The examples in docs/machines/ are configurations that a nats-server takes, and that we generate. */

import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import * as z from "zod";
import { serverConfig, type ServerOptions } from "../../../daemon/machines/nats/server_config.ts";
import { DEFAULT_LIMITS, prepareStore } from "../../../daemon/machines/nats/store.ts";
import { ROOT } from "../../support/documents/blocks.ts";
import { makeAuthority, makeCertificate } from "../../support/nats/certificates.ts";
import { natsTest } from "../../support/nats/nats_tests.ts";
import { Network } from "../../support/nats/network.ts";

const EXAMPLES = `${ROOT}docs/machines/`;
const SERVERS = ["one.conf", "cluster.conf", "hub.conf", "leaf.conf"];
const STREAMS = ["mesh.json", "directory.json", "files.json"];
/** The machines in the examples; their keys belong to nobody. */
const OPTIONS: ServerOptions = {
  server_name: "bus",
  host: "0.0.0.0",
  port: 4222,
  admin_key: "UCYQE5YMKI2T32L3FFREPWUYPFGP5YSMEBDH6XKEIYFQLJQO6JT2RXR7",
  machines: [
    {
      daemon_id: "dm-3f9c04d1a2b7",
      name: "laptop",
      public_key: "UCXSFTEKVJFMHWB7YE2XXLU5VET72N4RN3XS7TTZHTUOP2PEMPYRLNYU",
    },
    {
      daemon_id: "dm-1f7b3a90c6e2",
      name: "buildbox",
      public_key: "UCVZSKQWIL3NBM33OM6KPEUYFWIG7N3UMRMNN52CXFXQ2AMUPRGNLFRC",
    },
  ],
};
const Stream = z.looseObject({ name: z.string(), num_replicas: z.literal(3) });

const readExample = (name: string) => Deno.readTextFileSync(EXAMPLES + name);

/** An example without the comment in its first line. */
const contentOf = (name: string) => readExample(name).replace(/^#.*\n/, "");

function accountsIn(options: ServerOptions): string {
  const text = serverConfig(options);
  return text.slice(text.indexOf("accounts:"));
}

/** A copy of the examples, in which the paths of their certificates and stores exist. */
async function copyExamples(): Promise<string> {
  const dir = await Deno.makeTempDir({ prefix: "mesh-nats-examples-" });
  await makeAuthority(dir);
  await makeCertificate(dir, "server");
  for (const { name } of Deno.readDirSync(EXAMPLES)) {
    const text = readExample(name).replaceAll(/\/etc\/nats\b|\/var\/lib\/nats\b/g, dir);
    Deno.writeTextFileSync(`${dir}/${name}`, text);
  }
  return dir;
}

/** Checks a configuration without starting a server: `valid`, or the error. */
async function check(path: string): Promise<string> {
  const args = ["-t", "-c", path];
  const { success, stderr } = await new Deno.Command("nats-server", { args }).output();
  return success ? "valid" : new TextDecoder().decode(stderr);
}

natsTest("nats-server takes every example of a configuration", async () => {
  const dir = await copyExamples();
  try {
    for (const name of SERVERS) assert.equal(await check(`${dir}/${name}`), "valid", name);
    Deno.writeTextFileSync(`${dir}/one.conf`, "\nno_such_option: 1\n", { append: true });
    assert.match(await check(`${dir}/one.conf`), /no_such_option/);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("the machines in the examples have the permissions that we generate", () => {
  assert.equal(contentOf("accounts.conf"), accountsIn({ ...OPTIONS, store_dir: "/var/lib/nats" }));
  assert.equal(contentOf("leaf_accounts.conf"), accountsIn(OPTIONS));
});

Deno.test("the examples let a message of our largest size through", () => {
  const [limit] = /^max_payload: \d+$/m.exec(serverConfig(OPTIONS)) ?? [];
  for (const name of SERVERS) assert.ok(limit && readExample(name).includes(limit), name);
});

natsTest("the examples of streams are those that we make, with three copies", async () => {
  await using network = await Network.start();
  const connection = await network.connect({ seed: network.server.admin.seed });
  await prepareStore(connection, DEFAULT_LIMITS);
  const { streams } = await jetstreamManager(connection);
  for (const file of STREAMS) {
    const example = Stream.parse(JSON.parse(readExample(file)));
    const { config } = await streams.info(example.name);
    assert.partialDeepStrictEqual(config, { ...example, num_replicas: 1 }, file);
  }
});
