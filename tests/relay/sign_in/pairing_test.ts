/** Pairing a browser with a machine through the relay: what it reaches, and what others gain. */

import assert from "node:assert/strict";
import { CODES_EACH_MAX } from "../../../relay/sign_in/devices.ts";
import { addPeer, notify, signIn } from "../../support/daemon/peer_clients.ts";
import {
  NAMESPACE as FIXTURE_NAMESPACE,
  type RelayFixture,
  relayFixture,
  SECRET as FIXTURE_SECRET,
} from "../../support/relay/composed_relay.ts";
import { FakePushService } from "../../support/push/push_service.ts";
import type { World } from "../../support/world.ts";
import {
  daemonId,
  NAMESPACE,
  OTHER_SECRET,
  RELAY,
  type RelayWorld,
  relayWorld,
  SECRET,
} from "../../support/relay/relay_world.ts";

const PAGE = { origin: RELAY, "sec-fetch-site": "same-origin" };
type DaemonOptions = Parameters<RelayWorld["daemon"]>[1];

function connect(r: RelayWorld, number = 1, more: DaemonOptions = {}): Promise<World> {
  const send = (request: Request) => r.relay.fetch(request);
  return r.daemon(number, { send, settings: { "human.name": "sam" }, ...more });
}

/** A code of a person's page of the daemon, and its address at the relay. */
async function createCode(w: World): Promise<{ code: string; url: string }> {
  const headers = await signIn(w);
  const answer = await (await w.fetch("/pair/codes", { method: "POST", headers })).json();
  return { code: answer.code, url: answer.addresses[0]?.url };
}

async function redeem(r: RelayWorld, code: string, headers: Record<string, string> = {}) {
  const answer = await r.fetch("/pair", {
    method: "POST",
    headers: { ...PAGE, ...headers },
    body: JSON.stringify({ code, name: "phone" }),
  });
  const [cookie = ""] = (answer.headers.get("set-cookie") ?? "").split(";");
  return {
    status: answer.status,
    cookie,
    set: answer.headers.get("set-cookie"),
    ...await answer.json(),
  };
}

/** Leads a code to machine 1 of a secret. */
async function announce(r: RelayWorld, secret: string, code: string): Promise<Response> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(code));
  return await r.fetch("/api/v1/pairings", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}` },
    body: JSON.stringify({ daemon_id: daemonId(1), digest: new Uint8Array(bytes).toHex() }),
  });
}

/** A browser that is paired with machine 1. */
async function pair(r: RelayWorld, w: World) {
  const { code } = await createCode(w);
  const { cookie } = await redeem(r, code);
  return new Browser(r, cookie);
}

class Browser {
  readonly #r: RelayWorld;
  readonly cookie: string;

  constructor(r: RelayWorld, cookie: string) {
    this.#r = r;
    this.cookie = cookie;
  }

  async request(path: string, { number = 1, method = "GET", body, ...headers }: {
    number?: number;
    method?: string;
    body?: unknown;
    token?: string;
  } = {}) {
    const answer = await this.#r.fetch(`/m/${daemonId(number)}${path}`, {
      method,
      headers: {
        ...PAGE,
        cookie: this.cookie,
        ...(headers.token && { "x-mesh-form-token": headers.token }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, ...await answer.json() };
  }
}

Deno.test("a phone pairs through the relay, and speaks as the human at that machine", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const { code, url } = await createCode(w);
  assert.equal(url, `${RELAY}/pair#${code}`);
  assert.equal((await r.fetch("/pair")).status, 200);
  const { status, page, set, cookie } = await redeem(r, code);
  assert.deepEqual([status, page], [200, `/m/${daemonId(1)}/dashboard`]);
  assert.match(
    set ?? "",
    /^__Host-mesh-dm-000000000001=[0-9a-f]{64}\.[\w-]+; Path=\/; HttpOnly; SameSite=Lax; .*; Secure$/,
  );
  assert.ok(!set?.includes(SECRET));
  const phone = new Browser(r, cookie);
  const session = await phone.request("/dashboard/session");
  assert.deepEqual(session.machines.map(({ daemon_id }: { daemon_id: string }) => daemon_id), [
    daemonId(1),
  ]);
  await addPeer(w, "ada");
  const asked = await w.post("/ask", {
    from_peer: "ada",
    to_peer: "sam",
    text: "Allow?",
    question: { kind: "choice", options: [{ id: "yes", title: "Yes" }] },
  });
  const { inbox: { item_id }, correlation_id } = await asked.json();
  const token = session.form_token;
  const body = { surface: "dashboard", option_id: "yes" };
  const reply = await phone.request(`/inbox/${item_id}/reply`, { method: "POST", body, token });
  assert.equal(reply.action, "answered");
  const ask = await (await w.fetch(`/asks/${correlation_id}`)).json();
  assert.equal(ask.reply_voice, "human");
});

Deno.test("a paired browser reaches its machine only, and not what needs an administrator", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  await using _other = await connect(r, 2);
  const phone = await pair(r, w);
  assert.equal((await phone.request("/peers")).status, 200);
  assert.equal((await phone.request("/peers", { number: 2 })).error, "not_signed_in");
  assert.equal((await phone.request("/config")).error, "relay_admin_off");
  assert.equal((await phone.request("/metrics")).error, "not_through_relay");
  const headers = { ...PAGE, cookie: phone.cookie };
  for (const path of ["/api/v1/daemons", "/api/v1/shares"]) {
    assert.equal((await r.fetch(path, { headers })).status, 401, path);
  }
});

Deno.test("a session outlives a restart of the relay and of the daemon", async () => {
  const folder = Deno.makeTempDirSync();
  try {
    const db_path = `${folder}/mesh.db`;
    let cookie = "";
    {
      await using r = relayWorld();
      await using w = await connect(r, 1, { db_path });
      cookie = (await pair(r, w)).cookie;
    }
    await using r = relayWorld();
    await using _w = await connect(r, 1, { db_path });
    assert.equal((await new Browser(r, cookie).request("/peers")).status, 200);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("a session that a person ends is over at once, and so are its streams", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const phone = await pair(r, w);
  const stream = await r.fetch(`/m/${daemonId(1)}/events/stream`, {
    headers: { ...PAGE, cookie: phone.cookie },
  });
  let ended = false;
  const reading = (async () => {
    for await (const _ of stream.body ?? []) { /* Reads to the end. */ }
  })().catch(() => undefined).finally(() => ended = true);
  const person = await signIn(w);
  const { devices: [device] } = await (await w.fetch("/devices", { headers: person })).json();
  assert.deepEqual([device.name, device.via], ["phone", "relay"]);
  await w.fetch(`/devices/${device.device_id}`, { method: "DELETE", headers: person });
  await r.clock.settle();
  await reading;
  assert.equal(ended, true);
  assert.equal((await phone.request("/peers")).error, "device_not_paired");
  assert.equal((await phone.request("/dashboard/session")).error, "not_signed_in");
});

Deno.test("a code counts once, at the relay of its machine, within five minutes", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const { code } = await createCode(w);
  assert.equal((await redeem(r, code, { origin: "https://evil.example" })).status, 403);
  assert.equal((await redeem(r, code.replace(/.$/, "0"))).status, 403);
  assert.equal((await redeem(r, code)).status, 200);
  assert.equal((await redeem(r, code)).error, "code_refused");
  const late = await createCode(w);
  await r.tick(301, w);
  assert.equal((await redeem(r, late.code)).error, "code_refused");
});

Deno.test("another namespace with a machine of the same id gets neither the browser nor its token", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const phone = await pair(r, w);
  await using evil = await connect(r, 1, { secret: OTHER_SECRET });
  await w.daemon.shutDown();
  await r.clock.settle();
  const asked = await phone.request("/peers");
  assert.equal(asked.error, "machine_offline");
  assert.equal(evil.daemon.devices.list(undefined).length, 0);
  // The other namespace sends the browser a link with a code of its own.
  const { code } = await createCode(evil);
  const lured = await redeem(r, code, { cookie: phone.cookie });
  assert.deepEqual([lured.status, lured.error], [409, "paired_elsewhere"]);
});

Deno.test("another namespace cannot take over a code, nor announce for a machine of others", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const { code } = await createCode(w);
  assert.equal((await announce(r, OTHER_SECRET, code.replaceAll("-", ""))).status, 403);
  assert.equal((await announce(r, "mesh_sk_short", code)).status, 401);
  // A code that it announces itself leads to its own namespace, which has no such machine.
  const own = "0".repeat(20);
  assert.equal((await announce(r, OTHER_SECRET, own)).status, 200);
  assert.equal((await redeem(r, own)).error, "unknown_machine");
  assert.equal((await redeem(r, code)).status, 200);
});

Deno.test("a code of one machine gives a session with that machine only", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  await using other = await connect(r, 2);
  const phone = await pair(r, w);
  const { code } = await createCode(other);
  const { cookie } = await redeem(r, code, { cookie: phone.cookie });
  assert.match(cookie, /^__Host-mesh-dm-000000000002=/);
  // The token of one machine means nothing at the other.
  const swapped = new Browser(r, cookie.replace("000000000002=", "000000000001="));
  assert.equal((await swapped.request("/peers")).error, "device_not_paired");
});

Deno.test("a cookie without a token that the machine knows reaches nothing", async () => {
  await using r = relayWorld();
  await using _w = await connect(r);
  for (const value of [`${NAMESPACE}.${"x".repeat(43)}`, `${NAMESPACE}.`, "", "a.b.c"]) {
    const phone = new Browser(r, `__Host-mesh-${daemonId(1)}=${value}`);
    const { status } = await phone.request("/peers");
    assert.equal(status, 401, value);
  }
});

Deno.test("a header of a browser does not pass as the token of a device", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const { code } = await createCode(w);
  const { token } = w.daemon.devices.redeem({ code }, "relay");
  const answer = await r.fetch(`/m/${daemonId(1)}/pair/device`, {
    headers: { ...PAGE, "x-mesh-device": token },
  });
  assert.equal(answer.status, 401);
  r.sessions.set("person", NAMESPACE);
  const signedIn = await r.fetch(`/m/${daemonId(1)}/pair/device`, {
    headers: { ...PAGE, cookie: "person", "x-mesh-device": token },
  });
  assert.deepEqual(await signedIn.json(), { device_id: null });
});

Deno.test("a form token of another sign-in is refused", async () => {
  await using r = relayWorld();
  await using w = await connect(r);
  const phone = await pair(r, w);
  assert.equal((await phone.request("/peers", { token: "x" })).error, "not_signed_in");
});

Deno.test("pushes of a device that subscribed through the relay name the machine", async () => {
  await using r = relayWorld();
  const service = new FakePushService();
  await using w = await connect(r, 1, { sendPublicly: service.send });
  service.now = () => r.clock.now();
  const phone = await pair(r, w);
  const { account, form_token: token } = await phone.request("/dashboard/session");
  const { public_key } = await phone.request("/push");
  const body = { ...service.subscribe(public_key), account };
  const added = await phone.request("/push/subscriptions", { method: "POST", body, token });
  assert.deepEqual([added.via, typeof added.device_id], ["relay", "string"]);
  await notify(w, "ada", "sam", "Built");
  await w.tick();
  assert.deepEqual([service.last.title, service.last.account], [
    "ada writes to you · here",
    account,
  ]);
  assert.ok(!account.includes(NAMESPACE) && !NAMESPACE.includes(account));
  const report = { push_id: service.last.push_id, token: service.last.token, report: "displayed" };
  assert.equal(
    (await phone.request("/push/reports", { method: "POST", body: report })).status,
    200,
  );
});

Deno.test("another namespace sees no device, no subscription and no push of this one", async () => {
  await using r = relayWorld();
  const service = new FakePushService();
  await using w = await connect(r, 1, { sendPublicly: service.send });
  await using _evil = await connect(r, 2, { secret: OTHER_SECRET, sendPublicly: service.send });
  const phone = await pair(r, w);
  const { public_key } = await phone.request("/push");
  const { subscription_id } = await phone.request("/push/subscriptions", {
    method: "POST",
    body: service.subscribe(public_key),
  });
  r.sessions.set("evil", "0".repeat(64));
  const evil = new Browser(r, "evil");
  for (
    const [path, method] of [
      ["/push", "GET"],
      [`/push/subscriptions/${subscription_id}`, "DELETE"],
      ["/devices", "GET"],
    ] as const
  ) {
    assert.equal((await evil.request(path, { method })).error, "unknown_machine", path);
  }
});

/** A machine that answers as it likes. */
function hostileMachine(at: RelayFixture, answer: (path: string) => Response): void {
  at.machines.connect(
    FIXTURE_NAMESPACE,
    daemonId(1),
    ({ url }) => Promise.resolve(answer(new URL(url).pathname)),
  );
}

Deno.test("a hostile machine sets no cookie but its own, and leads the browser nowhere else", async () => {
  const expires_at = "2030-01-01T00:00:00.000Z";
  const answers: [answer: unknown, status: number][] = [
    [{ device_id: "dev-1", token: "x".repeat(43), expires_at, page: "https://evil" }, 200],
    [{ device_id: "dev-1", token: "x; Domain=example; Path=/evil", expires_at }, 502],
    [{ device_id: "dev-1", token: "short", expires_at }, 502],
    [{ token: 5 }, 502],
    ["<script>", 502],
  ];
  for (const [answer, expected] of answers) {
    await using at = relayFixture();
    hostileMachine(at, () => Response.json(answer, { headers: { "set-cookie": "__Host-mesh=x" } }));
    const code = "0".repeat(20);
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(code));
    await at.send("/api/v1/pairings", {
      method: "POST",
      headers: { authorization: `Bearer ${FIXTURE_SECRET}` },
      body: JSON.stringify({ daemon_id: daemonId(1), digest: new Uint8Array(digest).toHex() }),
    });
    const headers = { origin: at.base, "sec-fetch-site": "same-origin" };
    const body = JSON.stringify({ code });
    const paired = await at.send("/pair", { method: "POST", headers, body });
    assert.equal(paired.status, expected, JSON.stringify(answer));
    const cookies = paired.headers.getSetCookie();
    if (expected !== 200) assert.deepEqual(cookies, []);
    else {
      assert.match(cookies.join(), /^__Host-mesh-dm-000000000001=[^,]+$/);
      assert.deepEqual(await paired.json(), { page: `/m/${daemonId(1)}/dashboard` });
    }
  }
});

Deno.test("a daemon of an earlier version, which would not check a token, gets no request", async () => {
  await using at = relayFixture();
  hostileMachine(at, () => Response.json({ devices: [] }));
  const cookie = `__Host-mesh-${daemonId(1)}=${FIXTURE_NAMESPACE}.${"x".repeat(43)}`;
  const headers = { origin: at.base, "sec-fetch-site": "same-origin", cookie };
  const session = await at.send(`/m/${daemonId(1)}/dashboard/session`, { headers });
  assert.equal(session.status, 401);
  assert.deepEqual(at.machines.forwarded, []);
});

Deno.test("a secret has at most 20 codes at the relay", async () => {
  await using r = relayWorld();
  const codes = Array.from({ length: CODES_EACH_MAX + 1 }, (_, at) => `${at}`.padStart(20, "0"));
  for (const code of codes) assert.equal((await announce(r, SECRET, code)).status, 200);
  assert.equal((await redeem(r, codes[0] ?? "")).error, "code_refused");
  assert.equal((await redeem(r, codes.at(-1) ?? "")).error, "unknown_machine");
});
