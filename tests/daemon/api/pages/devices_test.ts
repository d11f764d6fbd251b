/** Paired devices: one-time codes, the sessions that they give, and their end. */

import assert from "node:assert/strict";
import { normalizeCode } from "protocol/api/devices.ts";
import { CODE_MS, DEVICE_MS, WRONG_CODES_MAX } from "../../../../daemon/api/pages/devices.ts";
import { eventData, post, signIn } from "../../../support/daemon/peer_clients.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { BASE, FakeSockets, type World, world, type WorldOptions } from "../../../support/world.ts";

const WITH_SAM = { "human.name": "sam" };
const TOKEN = "t".repeat(43);
/** A daemon that listens on the network, called by a phone there. */
const ON_NETWORK = {
  ...WITH_SAM,
  "daemon.host": "192.168.1.5",
  "daemon.auth_token": TOKEN,
};
const HOST = "192.168.1.5:8377";
const PHONE: Deno.NetAddr = { transport: "tcp", hostname: "192.168.1.77", port: 40_000 };

const open = (more: WorldOptions = {}) => world({ settings: WITH_SAM, ...more });

/** A person's page creates a code. */
async function createCode(w: World) {
  const headers = await signIn(w);
  return await (await w.fetch("/pair/codes", { method: "POST", headers })).json();
}

/** Redeems a code from a page of the daemon; returns the answer and the cookie. */
async function redeem(w: World, code: string, origin = BASE) {
  const answer = await w.post("/pair", { code, name: "phone" }, { origin });
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  return { status: answer.status, cookie, set: answer.headers.get("set-cookie"), answer };
}

async function pair(w: World): Promise<string> {
  const { code } = await createCode(w);
  return (await redeem(w, code)).cookie;
}

async function session(w: World, cookie: string) {
  const answer = await w.fetch("/dashboard/session", { headers: { cookie, origin: BASE } });
  return { status: answer.status, ...await answer.json() };
}

Deno.test("a code gives one browser a session that speaks as the human, and no secret", async () => {
  await using w = open({ settings: { ...WITH_SAM, "daemon.auth_token": TOKEN } });
  const { code } = await createCode(w);
  assert.match(code, /^(?:[0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/);
  const { status, cookie, set, answer } = await redeem(w, code);
  assert.deepEqual([status, await answer.json()], [200, { page: "/dashboard" }]);
  assert.match(set ?? "", /^mesh_device=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=/);
  assert.ok(!set?.includes(TOKEN));
  const { human, human_name } = await session(w, cookie);
  assert.deepEqual([human, human_name], [true, "sam"]);
  const inbox = await w.fetch("/inbox", { headers: { cookie, origin: BASE } });
  assert.equal(inbox.status, 200);
});

Deno.test("a code counts once, for five minutes, and however it is typed", async () => {
  await using w = open();
  const { code } = await createCode(w);
  assert.equal((await redeem(w, ` ${code.toLowerCase().replaceAll("-", " ")}`)).status, 200);
  const again = await redeem(w, code);
  assert.deepEqual([again.status, (await again.answer.json()).error], [403, "code_refused"]);
  const late = await createCode(w);
  await w.clock.advance(CODE_MS);
  assert.equal((await redeem(w, late.code)).status, 403);
  assert.equal(normalizeCode("o0-iI1l"), "001111");
});

Deno.test("after many wrong codes none counts for a minute", async () => {
  await using w = open();
  const { code } = await createCode(w);
  for (let at = 0; at < WRONG_CODES_MAX; at++) {
    assert.equal((await redeem(w, "AAAA-AAAA-AAAA-AAAA-AAAA")).status, 403);
  }
  const { answer } = await redeem(w, code);
  assert.deepEqual([answer.status, answer.headers.get("retry-after")], [429, "60"]);
  await w.clock.advance(60_000);
  assert.equal((await redeem(w, code)).status, 200);
});

Deno.test("only a person creates codes, sees devices and ends them", async () => {
  await using w = open();
  await pair(w);
  const { devices: [device] } = await (await w.fetch("/devices", { headers: await signIn(w) }))
    .json();
  const requests: [method: string, path: string][] = [
    ["POST", "/pair/codes"],
    ["GET", "/devices"],
    ["DELETE", `/devices/${device.device_id}`],
  ];
  for (const [method, path] of requests) {
    const answer = await w.fetch(path, { method });
    assert.deepEqual([answer.status, (await answer.json()).error], [403, "human_not_proven"], path);
  }
});

Deno.test("a program, or a page of another site, cannot redeem a code", async () => {
  await using w = open();
  const { code } = await createCode(w);
  assert.equal((await w.post("/pair", { code })).status, 403);
  assert.equal((await redeem(w, code, "https://evil.example")).status, 403);
  const direct = await w.post("/pair/redeem", { code });
  assert.equal((await direct.json()).error, "not_from_elsewhere");
  assert.equal((await redeem(w, code)).status, 200);
});

Deno.test("a device is listed with its name, and ending it ends its streams and its cookie", async () => {
  await using w = open();
  const cookie = await pair(w);
  const headers = { cookie, origin: BASE };
  const { devices: [device] } = await (await w.fetch("/devices", { headers })).json();
  assert.deepEqual([device.name, device.via, device.is_this], ["phone", "daemon", true]);
  const stream = await w.fetch("/events/stream", { headers });
  let ended = false;
  void (async () => {
    for await (const _ of stream.body ?? []) { /* Reads to the end. */ }
    ended = true;
  })();
  await w.clock.settle();
  assert.equal(ended, false);
  const person = await signIn(w);
  await w.fetch(`/devices/${device.device_id}`, { method: "DELETE", headers: person });
  await w.clock.settle();
  assert.equal(ended, true);
  assert.equal((await session(w, cookie)).human, false);
  const states = eventData(w, "device_changed").map(({ state }) => state);
  assert.deepEqual(states, ["paired", "removed"]);
});

Deno.test("the pushes of a device end with its session", async () => {
  await using w = open();
  const cookie = await pair(w);
  const headers = { cookie, origin: BASE };
  const { createECDH } = await import("node:crypto");
  const own = createECDH("prime256v1");
  const p256dh = own.generateKeys("base64url");
  const keys = { p256dh, auth: "A".repeat(22) };
  const body = JSON.stringify({ endpoint: "https://push.example/1", keys });
  const added = await w.fetch("/push/subscriptions", { method: "POST", headers, body });
  const { device_id } = await added.json();
  const person = await signIn(w);
  const list = async () =>
    (await (await w.fetch("/push", { headers: person })).json()).subscriptions.length;
  assert.equal(await list(), 1);
  await w.fetch(`/devices/${device_id}`, { method: "DELETE", headers: person });
  assert.equal(await list(), 0);
});

Deno.test("a session lasts 90 days, over restarts, and signing out ends it", async () => {
  using disk = restartableWorld({ settings: WITH_SAM });
  let cookie = "";
  {
    await using w = disk.start();
    cookie = await pair(w);
  }
  await using w = disk.start();
  assert.equal((await session(w, cookie)).human, true);
  const headers = { cookie, origin: BASE };
  const out = await w.fetch("/dashboard/session", { method: "DELETE", headers });
  assert.match(out.headers.getSetCookie()[1] ?? "", /^mesh_device=; .*Max-Age=0/);
  assert.equal((await session(w, cookie)).human, false);
  const other = await pair(w);
  w.clock.step(DEVICE_MS);
  assert.equal((await session(w, other)).human, false);
  await w.tick();
  assert.equal(eventData(w, "device_changed").at(-1)?.state, "expired");
});

Deno.test("a phone on the network pairs, and without a cookie it reaches nothing", async () => {
  const sockets = new FakeSockets();
  sockets.uid = undefined; // The kernel knows no owner of a socket of another machine.
  await using w = open({ settings: ON_NETWORK, sockets });
  const call = (path: string, init: RequestInit = {}) => {
    const headers = { host: HOST, ...init.headers };
    return w.daemon.fetch(new Request(`http://${HOST}${path}`, { ...init, headers }), PHONE);
  };
  w.daemon.address.port = 8377;
  for (const path of ["/dashboard", "/inbox", "/devices"]) {
    const headers = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    assert.equal((await call(path, { headers })).status, 401, path);
  }
  // The page for codes answers while a code waits.
  assert.equal((await call("/pair")).status, 401);
  const { code } = w.daemon.devices.createCode();
  assert.equal((await call("/pair")).status, 200);
  const body = JSON.stringify({ code });
  const paired = await call("/pair", {
    method: "POST",
    body,
    headers: { origin: `http://${HOST}` },
  });
  const [cookie = ""] = (paired.headers.get("set-cookie") ?? "").split(";");
  // Browsers send no Sec-Fetch-Site without TLS.
  for (const path of ["/dashboard", "/inbox", "/dashboard/session"]) {
    assert.equal((await call(path, { headers: { cookie } })).status, 200, path);
  }
  assert.equal((await call("/pair")).status, 401);
  const foreign = { cookie, origin: "http://192.168.1.5:9999" };
  assert.equal((await call("/inbox", { headers: foreign })).status, 403);
});

Deno.test("a paired device may do what it could through a relay, and no more", async () => {
  await using w = open();
  const headers = { cookie: await pair(w), origin: BASE };
  const refused: [method: string, path: string][] = [
    ["GET", "/config"],
    ["POST", "/spawn"],
    ["GET", "/openapi.json"],
    ["GET", "/deliveries"],
  ];
  for (const [method, path] of refused) {
    const answer = await w.fetch(path, { method, headers });
    assert.deepEqual([answer.status, (await answer.json()).error], [403, "not_for_devices"], path);
  }
  await using admin = open({ settings: { ...WITH_SAM, "relay.allow_admin": "true" } });
  const own = { cookie: await pair(admin), origin: BASE };
  assert.equal((await admin.fetch("/config", { headers: own })).status, 200);
  assert.equal((await admin.fetch("/openapi.json", { headers: own })).status, 403);
});

Deno.test("the cookie of a device opens neither the metrics nor the MCP endpoint", async () => {
  await using w = open({ settings: { ...WITH_SAM, "daemon.auth_token": TOKEN } });
  const headers = { cookie: await pair(w), origin: BASE };
  for (const path of ["/metrics", "/mcp"]) {
    assert.equal(
      (await w.fetch(path, { method: path === "/mcp" ? "POST" : "GET", headers })).status,
      401,
    );
  }
});

Deno.test("a code says where a phone can enter it, and why it cannot", async () => {
  await using alone = open();
  const here = await createCode(alone);
  assert.deepEqual(here.addresses, []);
  assert.match(here.notes.join("\n"), /No relay is configured.*\n.*listens on this machine only/s);
  const addressesWith = async (settings: Record<string, string>) => {
    const more = { "daemon.auth_token": TOKEN, ...settings };
    await using w = open({ settings: { ...WITH_SAM, ...more }, at_terminal: true });
    w.daemon.address.port = 8377;
    const headers = { authorization: `Bearer ${TOKEN}`, "x-mesh-terminal": "500" };
    const { addresses, code, notes } = await post(w, "/pair/codes", {}, headers);
    const urls = addresses.map(({ url }: { url: string }) => url.replace(code, "CODE"));
    return [...urls, ...notes.filter((note: string) => !note.includes("relay"))];
  };
  const allowed = { "daemon.allowed_hosts": "mesh.example" };
  assert.deepEqual(await addressesWith({ "daemon.host": "192.168.1.5", ...allowed }), [
    `http://${HOST}/pair#CODE`,
    "http://mesh.example:8377/pair#CODE",
  ]);
  assert.deepEqual(await addressesWith(allowed), ["https://mesh.example/pair#CODE"]);
  const [note] = await addressesWith({ "daemon.host": "0.0.0.0" });
  assert.match(note, /admits no name of this machine.*daemon\.allowed_hosts/);
});

Deno.test("the page for the code runs only its own script", async () => {
  await using w = open();
  const page = await w.fetch("/pair");
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.ok(!/unsafe|https?:|\*/.test(policy), policy);
  assert.equal(page.headers.get("cache-control"), "no-store");
  const text = await page.text();
  const [script = ""] = /(?<=<script>)[^]*(?=<\/script>)/.exec(text) ?? [];
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(script));
  assert.ok(policy.includes(`'sha256-${new Uint8Array(digest).toBase64()}'`));
});
