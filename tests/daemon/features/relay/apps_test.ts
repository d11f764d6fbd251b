/** Connected apps as the daemon's own dashboard sees them, at a relay with OAuth. */

import assert from "node:assert/strict";
import { listApps, revokeApp } from "protocol/apps.ts";
import {
  App,
  ISSUER,
  type OAuthWorld,
  oauthWorld,
  SECRET,
} from "../../../support/relay/oauth_world.ts";
import { type World, world } from "../../../support/world.ts";

const SETTINGS = {
  "relay.enabled": "true",
  "relay.url": ISSUER,
  "relay.secret": SECRET,
};

function daemonOf(relay: OAuthWorld): World {
  return world({
    settings: SETTINGS,
    send: ({ url, method, headers }) => relay.fetch(new URL(url).pathname, { method, headers }),
  });
}

Deno.test("GET /apps lists what apps may do, and DELETE ends the access of one", async () => {
  using relay = oauthWorld();
  await using w = daemonOf(relay);
  const app = await App.register(relay);
  const { refresh_token } = await app.connect();
  const { apps: [found] } = await w.call(listApps, {});
  assert.deepEqual([found?.client_name, found?.scope], ["An app", "agents:read agents:write"]);
  const params = { id: found?.grant_id ?? "" };
  assert.deepEqual(await w.call(revokeApp, { params }), { ok: true });
  assert.equal((await app.refresh(refresh_token)).status, 400);
  await assert.rejects(w.call(revokeApp, { params }), { status: 404, message: /^unknown_app/ });
  assert.deepEqual((await w.call(listApps, {})).apps, []);
});

Deno.test("GET /apps without a relay, or at one without OAuth, says so", async () => {
  await using alone = world();
  await assert.rejects(alone.call(listApps, {}), { status: 503, message: /^relay_disabled/ });
  const refusal = JSON.stringify({ error: "oauth_disabled", detail: "Remote MCP is off" });
  const send = () => Promise.resolve(new Response(refusal, { status: 404 }));
  await using w = world({ settings: SETTINGS, send });
  await assert.rejects(w.call(listApps, {}), { status: 404, message: /^oauth_disabled/ });
});
