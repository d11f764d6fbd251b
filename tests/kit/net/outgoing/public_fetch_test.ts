/** Requests to addresses that others have given: public servers only, as they were checked. */

import assert from "node:assert/strict";
import { isPublicAddress, publicFetch, refusalOfAddress } from "kit/net/outgoing/public_fetch.ts";
import { SecureServer } from "../../../support/net/secure_server.ts";

const LIMITS = { allow_local: false, bytes_max: 1000 };
const now = () => 0;

Deno.test("only addresses of the public internet are public", () => {
  for (const text of ["8.8.8.8", "172.32.0.1", "2606:4700::1", "[2a00:1450::5]"]) {
    assert.ok(isPublicAddress(text), text);
  }
  const others = [
    ..."0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 169.254.169.254 172.16.0.1 192.168.1.1".split(" "),
    ..."198.18.0.1 203.0.113.9 224.0.0.1 255.255.255.255 ::1 :: fe80::1 fd00::1".split(" "),
    ..."::ffff:10.0.0.1 2001:db8::1 2002:7f00:1:: 64:ff9b::7f00:1 example".split(" "),
  ];
  for (const text of others) assert.ok(!isPublicAddress(text), text);
});

Deno.test("an address must be https, without a login, and on the public internet", () => {
  const refused = [
    "http://push.example/1",
    "https://me:secret@push.example/1",
    "https://push.example/#1",
    "https://localhost/1",
    "https://intranet/1",
    "https://printer.local/1",
    "https://127.1/1",
    "https://2130706433/1",
    "https://[::ffff:127.0.0.1]/1",
    "https://169.254.169.254/latest",
    "ftp://push.example/1",
    "nothing",
  ];
  for (const address of refused) {
    assert.ok(refusalOfAddress(address, { allow_local: false }), address);
  }
  for (const address of ["https://push.example/1", "https://8.8.8.8/1"]) {
    assert.equal(refusalOfAddress(address, { allow_local: false }), undefined, address);
  }
  const allow_local = true;
  assert.equal(refusalOfAddress("http://127.0.0.1:9/1", { allow_local }), undefined);
  for (const address of ["http://10.0.0.1/1", "http://push.example/1", "ftp://localhost/1"]) {
    assert.ok(refusalOfAddress(address, { allow_local }), address);
  }
});

Deno.test("a name with any address that is not public is not called", async () => {
  for (const addresses of [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], []]) {
    const fetch = publicFetch({ env: {}, now, resolve: () => Promise.resolve(addresses) });
    await assert.rejects(fetch(new Request("https://push.example/1"), LIMITS), {
      message: "push.example is not on the public internet",
    });
  }
});

Deno.test("the address that was checked is called, with the certificate of its name", async () => {
  await using server = await SecureServer.start();
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  const env = { SSL_CERT_FILE: server.ca };
  const fetch = publicFetch({ env, now, resolve, isAllowed: () => true });
  const url = (host: string) => `https://${host}:${server.port}/`;
  const headers = { connection: "close" };
  const answer = await fetch(new Request(url("relay.example"), { headers }), LIMITS);
  assert.equal(await answer.text(), "reached");
  await assert.rejects(fetch(new Request(url("other.example"), { headers }), LIMITS));
});

Deno.test("a redirect is not followed, and a long answer is not read to its end", async () => {
  const headers = { location: "https://relay.example/other" };
  const handle = ({ url }: Request) =>
    url.endsWith("/long")
      ? new Response("x".repeat(2000))
      : new Response(null, { status: 302, headers });
  await using server = await SecureServer.start({ handle });
  const resolve = () => Promise.resolve(["127.0.0.1"]);
  const fetch = publicFetch({
    env: { SSL_CERT_FILE: server.ca },
    now,
    resolve,
    isAllowed: () => true,
  });
  const call = (path: string) =>
    fetch(
      new Request(`https://relay.example:${server.port}/${path}`, { redirect: "manual" }),
      LIMITS,
    );
  assert.equal((await call("redirect")).status, 302);
  assert.equal(await (await call("long")).text(), "");
});
