/** Files through the relay: hand-overs need `relay.allow_admin`, other attachments do not. */

import assert from "node:assert/strict";
import { HANDOFF_TYPE } from "protocol/messages/attachments.ts";
import { post } from "../../support/daemon/peer_clients.ts";
import {
  daemonId,
  NAMESPACE,
  type RelayWorld,
  relayWorld,
} from "../../support/relay/relay_world.ts";
import { handoffWorld } from "../../support/sessions/handoffs.ts";
import type { World } from "../../support/world.ts";

const COOKIE = "mesh=a-random-id";

async function openMachine(r: RelayWorld, allow_admin: boolean) {
  r.sessions.set(COOKIE, NAMESPACE);
  const settings = { "relay.allow_admin": String(allow_admin) };
  return await handoffWorld({ settings, open: (options) => r.daemon(1, options) });
}

/** The answers to a page of the relay and to a program, such as a tool or a guest's stream. */
async function answers(r: RelayWorld, id: string, method = "GET") {
  const path = `/attachments/${id}` as const;
  const headers = { cookie: COOKIE, "sec-fetch-site": "same-origin" };
  return [
    await r.fetch(`/m/${daemonId(1)}${path}`, { method, headers }),
    await r.ask(1, path, { method }),
  ];
}

async function upload(w: World, name: string, type: string): Promise<string> {
  const body = new FormData();
  body.set("file", new File(["# My notes"], name, { type }));
  return (await (await w.fetch("/attachments", { method: "POST", body })).json()).id;
}

// deno-fmt-ignore
const HANDOVERS: readonly [verb: string, make: (w: World) => Promise<string>][] = [
  ["hand-over",       async (w) => (await post(w, "/handoffs", { from_peer: "api", to_peer: "web" })).attachment_id],
  ["hand-over asked", async (w) => (await post(w, "/handoffs", { from_peer: "api", to_peer: "web", ask: true })).attachment_id],
  ["passed-on file",  (w) => upload(w, "notes.md", HANDOFF_TYPE)],
];

for (const [verb, make] of HANDOVERS) {
  Deno.test(`the file of a ${verb} passes the relay only with relay.allow_admin [c9.tunnel.admin]`, async () => {
    for (const allow_admin of [false, true]) {
      await using r = relayWorld();
      const { w } = await openMachine(r, allow_admin);
      await using _ = w;
      const id = await make(w);
      for (const method of ["GET", "HEAD"]) {
        for (const response of await answers(r, id, method)) {
          assert.equal(response.status, allow_admin ? 200 : 403, method);
          const text = await response.text();
          if (allow_admin || method === "HEAD") continue;
          assert.equal(JSON.parse(text).error, "relay_admin_off");
        }
      }
      assert.equal((await w.fetch(`/attachments/${id}`)).status, 200);
    }
  });
}

Deno.test("a file that only looks like a hand-over passes the relay", async () => {
  await using r = relayWorld();
  const { w } = await openMachine(r, false);
  await using _ = w;
  const id = await upload(w, "handoff-api-web.md", "text/markdown");
  for (const response of await answers(r, id)) assert.equal(await response.text(), "# My notes");
});
