/** Shares: their owner, what a guest may see and do, and how they end. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import { ackAsk, openAsk, pendingAsks } from "protocol/asks/contract.ts";
import { notifyPeer } from "protocol/notifications.ts";
import { describePeer } from "protocol/peers/contract.ts";
import { createShare, listShares, revokeShare } from "protocol/relay/shares.ts";
import { SHARES_EACH_MAX, VIEWERS_MAX } from "../../../relay/shares/shares.ts";
import {
  connectDaemon,
  cookieOf,
  form,
  ISSUER,
  NAMESPACE,
  OTHER_SECRET,
  registerAgent,
  type RelayFixture,
  relayFixture,
  SECRET,
} from "../../support/relay/composed_relay.ts";

const MACHINE_ID = "dm-000000000001";
const SAME_ORIGIN = { origin: ISSUER, "sec-fetch-site": "same-origin" };

async function share(at: RelayFixture, peer_id: string, more: Record<string, unknown> = {}) {
  const body = { daemon_id: MACHINE_ID, peer_id, permissions: "ro" as const, ...more };
  return await at.call(createShare, { body });
}

/** Reads a guest's stream: its text, whether it has ended, and whether it failed. */
function listen(response: Response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const streamState = { text: "", over: false, broke: false };
  const read = async () => {
    try {
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
        streamState.text += part.value;
      }
    } catch (error) {
      assert.ok(error instanceof Error || error instanceof DOMException);
      streamState.broke = true;
    }
    streamState.over = true;
  };
  const done = read();
  const types = () => [...streamState.text.matchAll(/^event: (\w+)$/gm)].map(([, type]) => type);
  return { streamState, done, types, leave: () => reader?.cancel() };
}

Deno.test("a share's optional field may be null, but no other", async () => {
  await using at = relayFixture({ ids: randomIds });
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  const create = (fields: object) =>
    at.send("/api/v1/shares", {
      method: "POST",
      headers: { authorization: `Bearer ${SECRET}` },
      body: JSON.stringify({ daemon_id: MACHINE_ID, peer_id, ...fields }),
    });
  const made = await create({ permissions: null });
  assert.deepEqual([made.status, (await made.json()).permissions], [200, "ro"]);
  for (const fields of [{ peer_id: null }, { ttl_seconds: null }, { permissions: "" }]) {
    const refused = await create(fields);
    assert.deepEqual([refused.status, (await refused.json()).error], [422, "invalid_request"]);
  }
});

Deno.test("a share has a random link to one peer and expires as requested [c9.share.bound]", async () => {
  await using at = relayFixture({ ids: randomIds });
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  const made = await share(at, peer_id, { ttl_seconds: 3600 });
  assert.match(made.share_id, /^sh_[\w-]{32}$/);
  assert.deepEqual(made, {
    share_id: made.share_id,
    url: `${ISSUER}/s/${made.share_id}`,
    daemon_id: MACHINE_ID,
    peer_id,
    display_name: "web",
    permissions: "ro",
    viewers: 0,
    created_at: "2030-01-01T00:00:00.000Z",
    expires_at: "2030-01-01T01:00:00.000Z",
  });
  assert.deepEqual((await at.call(listShares, {})).shares, [made]);
});

// deno-fmt-ignore
const REFUSED: [why: string, body: Record<string, unknown>, status: number, error: string][] = [
  ["a name for a peer",    { peer_id: "web" },                404, "unknown_peer"],
  ["no such peer",         { peer_id: "peer-ffffffffffff" },  404, "unknown_peer"],
  ["half a letter",        { peer_id: "\ud800" },             404, "unknown_peer"],
  ["another machine",      { daemon_id: "dm-ffffffffffff" },  404, "unknown_machine"],
  ["more than is allowed", { permissions: "admin" },          422, "invalid_request"],
  ["no time at all",       { ttl_seconds: 0 },                422, "invalid_request"],
  ["31 days",              { ttl_seconds: 31 * 86_400 },      422, "invalid_request"],
];
for (const [why, body, status, error] of REFUSED) {
  Deno.test(`creating a share with ${why} is refused`, async () => {
    await using at = relayFixture();
    await using w = connectDaemon(at, MACHINE_ID);
    const peer_id = await registerAgent(w, "web");
    await assert.rejects(share(at, peer_id, body), { status, message: new RegExp(`^${error}`) });
    assert.deepEqual((await at.call(listShares, {})).shares, []);
  });
}

Deno.test("the human cannot be shared", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const human = await registerAgent(w, "sam", { role: "human" });
  await assert.rejects(share(at, human), { status: 404, message: /^unknown_peer/ });
});

Deno.test("creating and revoking shares needs the secret, or a page of a session with it", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const peer_id = await registerAgent(w, "web");
  const made = await share(at, peer_id);
  const body = JSON.stringify({ daemon_id: MACHINE_ID, peer_id, permissions: "ro" });
  const cookie = cookieOf(await at.send("/login", form({ secret: SECRET })));
  // deno-fmt-ignore
  const tries: [why: string, headers: Record<string, string>, status: number][] = [
    ["nobody",                      {},                                              401],
    ["no secret",                   { authorization: "Bearer x" },                   401],
    ["no secret, but a cookie",     { authorization: "Bearer x", cookie },           401],
    ["a cookie from another page",  { cookie, origin: "https://evil.example" },      403],
    ["a cookie from nowhere",       { cookie },                                      403],
    ["our page",                    { cookie, ...SAME_ORIGIN },                             200],
  ];
  for (const [why, headers, status] of tries) {
    const response = await at.send("/api/v1/shares", { method: "POST", body, headers });
    assert.equal(response.status, status, why);
    await response.body?.cancel();
  }
  const stranger = { authorization: `Bearer ${OTHER_SECRET}` };
  const otherShares = await at.send("/api/v1/shares", { headers: stranger });
  assert.deepEqual((await otherShares.json()).shares, []);
  const params = { id: made.share_id };
  await assert.rejects(at.call(revokeShare, { params, headers: stranger }), { status: 404 });
  assert.deepEqual(await at.call(revokeShare, { params }), { ok: true });
  await assert.rejects(at.call(revokeShare, { params }), { status: 404 });
});

Deno.test("a guest receives only events that name the peer [c9.share.stream]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const [web, api] = [await registerAgent(w, "web"), await registerAgent(w, "api")];
  const { share_id } = await share(at, web);
  const guest = listen(await at.send(`/s/${share_id}/stream`));
  await w.clock.settle();
  const askAs = (from_peer: string, to_peer: string) =>
    w.call(notifyPeer, { body: { from_peer, to_peer, text: "A secret text" } });
  await askAs("cli", api);
  await askAs("cli", web);
  await askAs(web, api);
  await w.call(describePeer, {
    params: { id: api },
    query: {},
    body: { description: "Other work" },
  });
  await w.clock.settle();
  const events = guest.streamState.text.split("\n\n").filter((frame) => frame.includes("data: "));
  assert.ok(events.length >= 2);
  for (const frame of events) assert.ok(frame.includes(web), frame);
  assert.ok(!guest.streamState.text.includes("A secret text"));
  assert.deepEqual(guest.types().filter((type) => type === "notification").length, 2);
  await guest.leave();
});

Deno.test("a guest never receives inbox events, even if they name the peer [5.relay.no-inbox]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  await registerAgent(w, "sam", { role: "human" });
  const web = await registerAgent(w, "web");
  const { share_id } = await share(at, web);
  const guest = listen(await at.send(`/s/${share_id}/stream`));
  await w.clock.settle();
  await w.call(openAsk, { body: { from_peer: web, to_peer: "sam", text: "May I?" } });
  await w.clock.settle();
  const happened = w.events.map(({ type }) => type);
  assert.ok(happened.includes("inbox_item"));
  assert.ok(guest.types().includes("ask"));
  for (const never of ["inbox_item", "inbox_updated", "surface_pushed"]) {
    assert.ok(!guest.streamState.text.includes(never), never);
  }
  await guest.leave();
});

Deno.test("revoking a share ends its streams at once, and all its routes refuse [c9.share.revoked]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  const [ownShare, other] = [await share(at, web, { permissions: "rw" }), await share(at, web)];
  const guest = listen(await at.send(`/s/${ownShare.share_id}/stream`));
  const stays = listen(await at.send(`/s/${other.share_id}/stream`));
  const { shares } = await at.call(listShares, {});
  assert.deepEqual(shares.map(({ viewers }) => viewers), [1, 1]);
  await at.call(revokeShare, { params: { id: ownShare.share_id } });
  await guest.done;
  assert.deepEqual([guest.streamState.over, stays.streamState.over], [true, false]);
  assert.equal(guest.streamState.broke, false);
  assert.equal((await at.send(`/s/${ownShare.share_id}`)).status, 404);
  assert.equal((await at.send(`/s/${ownShare.share_id}/stream`)).status, 404);
  const asked = await at.send(`/s/${ownShare.share_id}/ask`, form({ text: "Hello" }));
  assert.equal(asked.status, 404);
  await stays.leave();
  await at.clock.settle();
  assert.equal((await at.call(listShares, {})).shares[0]?.viewers, 0);
});

Deno.test("the expiry of a share ends its open streams [c9.share.expiry]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await share(at, await registerAgent(w, "web"), { ttl_seconds: 1 });
  const guest = listen(await at.send(`/s/${share_id}/stream`));
  await at.clock.advance(999);
  at.features.tick();
  assert.equal((await at.send(`/s/${share_id}`)).status, 200);
  await at.clock.advance(1);
  const page = await at.send(`/s/${share_id}`);
  assert.equal(page.status, 404);
  assert.match(await page.text(), /it has expired/);
  at.features.tick();
  await guest.done;
  assert.equal(guest.streamState.broke, false);
  assert.deepEqual((await at.call(listShares, {})).shares, []);
});

Deno.test("shares are in memory: a new relay has no shares [5.relay.shares-in-memory]", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await share(at, await registerAgent(w, "web"));
  await using next = relayFixture();
  assert.equal((await next.send(`/s/${share_id}`)).status, 404);
});

Deno.test("a guest of an rw share can ask, as a sender whose name no peer can have", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  const [ro, rw] = [await share(at, web), await share(at, web, { permissions: "rw" })];
  const ask = (id: string) =>
    at.send(`/s/${id}/ask`, { method: "POST", body: JSON.stringify({ text: "How far?" }) });
  const refused = await ask(ro.share_id);
  assert.deepEqual([refused.status, (await refused.json()).error], [403, "share_read_only"]);
  const { request_id, status } = await (await ask(rw.share_id)).json();
  assert.equal(status, "pending");
  const { asks: [asked] } = await w.call(pendingAsks, { query: { peer_id: web } });
  assert.equal(asked?.correlation_id, request_id);
  assert.match(asked?.from_peer_name ?? "", /^mcp-share-[0-9a-f]{12}$/);
  assert.equal(asked?.reply_delivery, "pull");
});

Deno.test("a guest without scripts asks by a form and reads the answer on the page", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  const { share_id } = await share(at, web, { permissions: "rw" });
  const posted = await at.send(`/s/${share_id}/ask`, form({ text: "How far?" }, SAME_ORIGIN));
  assert.equal(posted.status, 303);
  const location = posted.headers.get("location") ?? "";
  const { asks: [asked] } = await w.call(pendingAsks, { query: { peer_id: web } });
  const correlation_id = asked?.correlation_id ?? "";
  assert.equal(location, `/s/${share_id}?request=${correlation_id}`);
  await w.call(ackAsk, { body: { correlation_id, message: "Half <b>done</b>" } });
  const page = await (await at.send(location)).text();
  assert.match(page, /Half &lt;b&gt;done&lt;\/b&gt;/);
});

Deno.test("a guest reads answers to its own questions only", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  const { share_id } = await share(at, web, { permissions: "rw" });
  const body = { from_peer: "cli", to_peer: web, text: "Between us?" };
  const { correlation_id } = await w.call(openAsk, { body });
  await w.call(ackAsk, { body: { correlation_id: correlation_id ?? "", message: "Between us" } });
  const page = await (await at.send(`/s/${share_id}?request=${correlation_id}`)).text();
  assert.ok(!page.includes("Between us"));
});

Deno.test("a foreign page cannot ask, and guests are rate-limited", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await share(at, await registerAgent(w, "web"), { permissions: "rw" });
  const path = `/s/${share_id}/ask`;
  const foreign = await at.send(path, form({ text: "x" }, { origin: "https://evil.example" }));
  assert.equal(foreign.status, 403);
  at.limits.guestAsks.wait = 5;
  const limited = await at.send(path, form({ text: "x" }));
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "5"]);
  assert.deepEqual(at.limits.guestAsks.keys, [share_id]);
});

Deno.test("may_have_been_delivered is true only if the guest's question was sent", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const { share_id } = await share(at, await registerAgent(w, "web"), { permissions: "rw" });
  const ask = async (path: RegExp) => {
    at.machines.nextFailure = { path, when: "after", code: "timed_out" };
    const answer = await at.send(`/s/${share_id}/ask`, form({ text: "x" }));
    return [answer.status, (await answer.json()).may_have_been_delivered];
  };
  assert.deepEqual(await ask(/^\/health$/), [504, false]);
  assert.deepEqual(await ask(/^\/peers\//), [504, false]);
  assert.deepEqual(await ask(/^\/ask$/), [504, true]);
});

Deno.test("the page of a share shows the state of the peer, or that its machine is offline", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  await w.call(describePeer, {
    params: { id: web },
    query: {},
    body: { description: "The <login> page" },
  });
  const { share_id } = await share(at, web);
  const response = await at.send(`/s/${share_id}`);
  const page = await response.text();
  assert.match(page, /The &lt;login&gt; page/);
  assert.ok(!page.includes("/srv/shop"), "Where it works is its owner's to know");
  assert.ok(!page.includes("<form"), "There is nothing to ask with");
  assert.match(
    response.headers.get("content-security-policy") ?? "",
    /script-src 'sha256-[^']+'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'$/,
  );
  at.machines.cut(NAMESPACE, MACHINE_ID);
  assert.match(await (await at.send(`/s/${share_id}`)).text(), /cannot be reached now/);
  assert.equal((await at.send(`/s/${share_id}/stream`)).status, 503);
  assert.equal((await at.call(listShares, {})).shares[0]?.viewers, 0);
});

Deno.test("shares per secret and viewers per share are limited", async () => {
  await using at = relayFixture();
  await using w = connectDaemon(at, MACHINE_ID);
  const web = await registerAgent(w, "web");
  const first = await share(at, web);
  for (let n = 1; n < SHARES_EACH_MAX; n++) await share(at, web);
  await assert.rejects(share(at, web), { status: 429, message: /^too_many_shares/ });
  const guestAsks = [];
  for (let n = 0; n < VIEWERS_MAX; n++) {
    guestAsks.push(listen(await at.send(`/s/${first.share_id}/stream`)));
  }
  const more = await at.send(`/s/${first.share_id}/stream`);
  assert.deepEqual([more.status, (await more.json()).error], [503, "too_many_viewers"]);
  await guestAsks[0]?.leave();
  await at.clock.settle();
  const again = listen(await at.send(`/s/${first.share_id}/stream`));
  for (const guest of [...guestAsks.slice(1), again]) await guest.leave();
});
