/** The settings of the bus: what is allowed, and what is refused in which combination. */

import assert from "node:assert/strict";
import { nameOfHost } from "../../../../daemon/app/membership/settings.ts";
import { readConfig } from "../../../../daemon/app/config.ts";

const read = (bus: string) => readConfig({ MESH_CONFIG: "/none" }, () => `mesh:\n  bus: ${bus}\n`);

Deno.test("without settings there is no bus, and nothing is shared", () => {
  const config = readConfig({ MESH_CONFIG: "/none" }, () => "");
  assert.equal(config["mesh.bus.url"], undefined);
  assert.deepEqual([config["mesh.bus.allow"], config["mesh.bus.allow_admin"]], [[], []]);
});

Deno.test("an address alone is enough, with TLS or on this machine", () => {
  const urls = [
    "tls://bus.test",
    "tls://10.0.0.2:4222,tls://10.0.0.3:4222",
    "nats://127.0.0.1:4222",
    "nats://[::1]:4222",
    "nats://localhost",
  ];
  for (const url of urls) assert.equal(read(`{ url: "${url}" }`)["mesh.bus.url"], url);
});

Deno.test("nats:// to another machine needs the certificate of an authority", () => {
  const url = "nats://127.0.0.1:4222,nats://bus.test:4222";
  const mistake =
    /mesh\.bus\.url: found .* without mesh\.bus\.ca; allowed for the host bus\.test, .*tls:\/\//;
  assert.throws(() => read(`{ url: "${url}" }`), mistake);
  assert.equal(read(`{ url: "${url}", ca: /etc/ca.pem }`)["mesh.bus.url"], url);
});

for (
  const url of ["bus.test:4222", "http://bus.test", "tls://me:word@bus.test", "tls://b.test/x"]
) {
  Deno.test(`not an address of a bus: ${url}`, () => {
    assert.throws(() => read(`{ url: "${url}" }`), /mesh\.bus\.url: found .*allowed: tls:\/\/HOST/);
  });
}

for (const port of ["0", "65536", "99999"]) {
  Deno.test(`a port of the bus is not ${port}`, () => {
    assert.throws(() => read(`{ url: "tls://bus.test:${port}" }`), /mesh\.bus\.url/);
  });
}

for (
  const setting of [
    "ca: /etc/ca.pem",
    "creds: ~/me.creds",
    "human_home: laptop",
    "allow_admin: [laptop]",
  ]
) {
  Deno.test(`a setting that means nothing without an address is refused: ${setting}`, () => {
    const key = setting.split(":")[0];
    const mistake = new RegExp(`mesh\\.bus\\.url: found nothing with mesh\\.bus\\.${key};`);
    assert.throws(() => read(`{ ${setting} }`), mistake);
    assert.ok(read(`{ url: tls://bus.test, ${setting} }`));
  });
}

Deno.test("a name and shared circles may be chosen before the machine joins", () => {
  const config = read("{ name: laptop, allow: [work, home] }");
  assert.equal(config["mesh.bus.name"], "laptop");
  assert.deepEqual(config["mesh.bus.allow"], ["work", "home"]);
});

Deno.test("the id of a machine is not a name for one", () => {
  assert.throws(() => read("{ name: dm-000000000001 }"), /mesh\.bus\.name: .*not dm-/);
});

Deno.test("the host name becomes a name, as far as it can", () => {
  const names = ["Sams-MacBook.local", "büro pc", "dm-000000000001", "", "-"].map(nameOfHost);
  assert.deepEqual(names, ["sams-macbook", "b-ro-pc", "machine", "machine", "machine"]);
});
