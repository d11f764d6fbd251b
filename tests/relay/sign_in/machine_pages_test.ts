/** The dashboard of a machine at the relay: for whom it is served, and with which policy. */

import assert from "node:assert/strict";
import * as z from "zod";
import { getMachinePage } from "protocol/relay/dashboard.ts";
import {
  connectDaemon,
  cookieOf,
  form,
  ISSUER,
  NAMESPACE,
  OTHER_SECRET,
  type RelayFixture,
  relayFixture,
  SECRET,
} from "../../support/relay/composed_relay.ts";

const MACHINE_ID = "dm-000000000001", ABSENT_ID = "dm-00000000000a";
const PAGE = `/m/${MACHINE_ID}/dashboard`;
const SAME_ORIGIN = { origin: ISSUER, "sec-fetch-site": "same-origin" };

async function signIn(at: RelayFixture, secret = SECRET): Promise<string> {
  return cookieOf(await at.send("/login", form({ secret })));
}

async function fetchText(at: RelayFixture, path: string, headers: Record<string, string> = {}) {
  const answer = await at.send(path, { headers });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

async function errorOf(at: RelayFixture, path: string, headers: Record<string, string>) {
  const { status, text } = await fetchText(at, path, headers);
  return [status, z.object({ error: z.string() }).parse(JSON.parse(text)).error];
}

Deno.test("a signed-in browser gets the page from the relay, and no machine is asked [c9.relay.dashboard]", async () => {
  await using at = relayFixture();
  await using _w = connectDaemon(at, MACHINE_ID);
  const cookie = await signIn(at);
  const page = await fetchText(at, PAGE, { cookie });
  assert.equal(page.status, 200);
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.ok(policy.startsWith("default-src 'none'"));
  assert.ok(!/unsafe|https?:|\*/.test(policy), policy);
  assert.equal(page.headers.get("cache-control"), "no-store");
  const links = [...page.text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = ""]) => link);
  assert.equal(links.length, 8);
  for (const link of [...links, "dashboard/worker.js"]) {
    const file = await fetchText(at, `/m/${MACHINE_ID}/${link}`);
    assert.equal(file.status, 200, link);
    assert.equal(file.headers.get("x-content-type-options"), "nosniff");
  }
  assert.deepEqual(at.machines.forwarded, []);
});

Deno.test("a browser that is not signed in is led to the sign-in", async () => {
  await using at = relayFixture();
  const answer = await fetchText(at, PAGE);
  assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/"]);
});

Deno.test("the page of a machine that is not connected is served, too, as it holds no data", async () => {
  await using at = relayFixture();
  const cookie = await signIn(at);
  assert.equal((await fetchText(at, `/m/${ABSENT_ID}/dashboard`, { cookie })).status, 200);
});

Deno.test("the manifest has the machine's name for its signed-in browsers, and its id for others", async () => {
  await using at = relayFixture();
  await using _w = connectDaemon(at, MACHINE_ID);
  const [cookie, other] = [await signIn(at), await signIn(at, OTHER_SECRET)];
  const manifestOf = async (headers: Record<string, string>, id = MACHINE_ID) => {
    const { text } = await fetchText(at, `/m/${id}/dashboard/manifest.webmanifest`, headers);
    return z.object({ short_name: z.string(), theme_color: z.string() }).parse(JSON.parse(text));
  };
  const own = await manifestOf({ cookie });
  assert.equal(own.short_name, at.machines.list(NAMESPACE)[0]?.machine);
  for (const headers of [{}, { cookie: other }]) {
    assert.deepEqual(await manifestOf(headers), { ...own, short_name: MACHINE_ID });
  }
  assert.equal((await manifestOf({ cookie }, ABSENT_ID)).short_name, ABSENT_ID);
  const { text } = await fetchText(at, PAGE, { cookie });
  assert.match(text, new RegExp(`<meta name="mesh-machine" content="${own.short_name}">`));
  assert.match(text, /<link rel="manifest" [^>]*crossorigin="use-credentials">/);
});

Deno.test("an address that no machine can have gets neither a page nor a service worker", async () => {
  await using at = relayFixture();
  const cookie = await signIn(at);
  for (const id of ["dm-x", "..%2fm", "dm-00000000000A", "x"]) {
    for (const file of ["dashboard", "dashboard/worker.js", "dashboard/manifest.webmanifest"]) {
      assert.equal((await fetchText(at, `/m/${id}/${file}`, { cookie })).status, 404, id);
    }
  }
});

Deno.test("the service worker of a machine may serve only that machine's page", async () => {
  await using at = relayFixture();
  const { headers } = await fetchText(at, `${PAGE}/worker.js`, { "service-worker": "script" });
  assert.equal(headers.get("service-worker-allowed"), PAGE);
});

Deno.test("the page learns its sign-in's token and only the machines of its secret", async () => {
  await using at = relayFixture();
  await using _w = connectDaemon(at, MACHINE_ID);
  const [cookie, other] = [await signIn(at), await signIn(at, OTHER_SECRET)];
  const sessionOf = async (headers: Record<string, string>) => {
    const { text } = await fetchText(at, `${PAGE}/session`, headers);
    return getMachinePage.returns.parse(JSON.parse(text));
  };
  const own = await sessionOf({ cookie, ...SAME_ORIGIN });
  assert.deepEqual(own.machines.map(({ daemon_id }) => daemon_id), [MACHINE_ID]);
  const foreign = await sessionOf({ cookie: other, ...SAME_ORIGIN });
  assert.deepEqual(foreign.machines, []);
  assert.notEqual(foreign.form_token, own.form_token);
});

Deno.test("the page's session is refused to strangers and to other sites [c9.tunnel.same-origin]", async () => {
  await using at = relayFixture();
  const cookie = await signIn(at);
  const path = `${PAGE}/session`;
  assert.deepEqual(await errorOf(at, path, SAME_ORIGIN), [401, "not_signed_in"]);
  assert.deepEqual(await errorOf(at, path, { cookie }), [403, "foreign_page"]);
  const evil = { cookie, origin: "https://evil.example" };
  assert.deepEqual(await errorOf(at, path, evil), [403, "foreign_page"]);
  const navigation = { cookie, "sec-fetch-site": "none", "sec-fetch-mode": "navigate" };
  assert.deepEqual(await errorOf(at, path, navigation), [403, "foreign_page"]);
});
