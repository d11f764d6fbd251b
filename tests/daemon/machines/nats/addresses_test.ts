import assert from "node:assert/strict";
import { parseAddresses } from "../../../../daemon/machines/nats/addresses.ts";

const textOf = (url: string) =>
  parseAddresses(url).map(({ host, port, tls_required }) =>
    `${host} ${port} ${tls_required ? "tls" : "plain"}`
  );

Deno.test("an address of another host means TLS, unless it says that it may be insecure", () => {
  assert.deepEqual(textOf("tls://bus.example:4223"), ["bus.example 4223 tls"]);
  assert.deepEqual(textOf("nats://bus.example"), ["bus.example 4222 tls"]);
  assert.deepEqual(textOf("nats://10.0.0.2:4222"), ["10.0.0.2 4222 tls"]);
  assert.deepEqual(textOf("nats://bus.example?insecure"), ["bus.example 4222 plain"]);
  assert.deepEqual(textOf("nats://localhost.example:1"), ["localhost.example 1 tls"]);
  assert.deepEqual(textOf("nats://127.0.0.1.example:1"), ["127.0.0.1.example 1 tls"]);
});

Deno.test("on the loopback interface, TLS is used only where it is asked for", () => {
  assert.deepEqual(textOf("nats://localhost:4222/"), ["localhost 4222 plain"]);
  assert.deepEqual(textOf("nats://127.0.0.1,NATS://[::1]:5"), [
    "127.0.0.1 4222 plain",
    "::1 5 plain",
  ]);
  assert.deepEqual(textOf("tls://127.0.0.1"), ["127.0.0.1 4222 tls"]);
});

Deno.test("several addresses are separated by commas", () => {
  assert.deepEqual(textOf("tls://a:1, nats://b?insecure"), ["a 1 tls", "b 4222 plain"]);
});

Deno.test("an invalid address is refused with a sentence", () => {
  const malformed = [
    "",
    "bus.example",
    "http://a",
    "tls://a:0",
    "tls://a:65536",
    "tls://a/x",
    "tls://a,",
  ];
  for (const url of malformed) assert.throws(() => parseAddresses(url), /Not an address of a bus/);
  assert.throws(() => parseAddresses("tls://a?insecure"), /asks for TLS and for no TLS/);
  for (const url of ["nats://user:pw@a", "tls://token@a"]) {
    assert.throws(() => parseAddresses(url), /must not hold a name or a password/);
    assert.throws(() => parseAddresses(url), (error: Error) => !error.message.includes("pw"));
  }
});
