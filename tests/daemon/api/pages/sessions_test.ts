/** A browser finds the dashboard, and signs out of it. */

import assert from "node:assert/strict";
import { addPeer, signIn } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

Deno.test("the root and a trailing slash lead to the dashboard", async () => {
  await using w = world();
  for (const path of ["/", "/dashboard/"]) {
    const answer = await w.fetch(path, { headers: { "sec-fetch-site": "none" } });
    assert.deepEqual([answer.status, answer.headers.get("location")], [303, "/dashboard"], path);
  }
  assert.equal((await w.fetch("/nowhere")).status, 404);
  assert.equal((await w.fetch("/", { headers: { "sec-fetch-site": "cross-site" } })).status, 403);
});

Deno.test("a page that signed out is nobody's, and its cookie is void", async () => {
  const settings = { "human.name": "sam", "daemon.auth_token": "a token of 16 letters" };
  await using w = world({ settings });
  const [page, other] = [await signIn(w), await signIn(w)];
  const statusOf = async (headers: Record<string, string>) =>
    (await w.fetch("/peers", { headers })).status;
  assert.equal(await statusOf(page), 200);
  const answer = await w.fetch("/dashboard/session", { method: "DELETE", headers: page });
  assert.equal(answer.status, 200);
  assert.equal(
    answer.headers.get("set-cookie"),
    "mesh_page=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0",
  );
  assert.deepEqual([await statusOf(page), await statusOf(other)], [401, 200]);
  const again = await w.fetch("/dashboard/session", { method: "DELETE", headers: page });
  assert.equal(again.status, 200);
});

Deno.test("a page that signed out speaks as the human no longer", async () => {
  await using w = world({ settings: { "human.name": "sam" } });
  await addPeer(w, "api");
  const page = await signIn(w);
  const humanOf = async () =>
    (await (await w.fetch("/dashboard/session", { headers: page })).json()).human;
  assert.equal(await humanOf(), true);
  await w.fetch("/dashboard/session", { method: "DELETE", headers: page });
  assert.equal(await humanOf(), false);
});
