/** `mesh machines renew-identity`: what a copy gets, what it keeps, and where it is refused. */

import assert from "node:assert/strict";
import { answeringDaemon, HEALTH } from "../../../support/cli/answering_daemon.ts";
import { freePort } from "../../../support/cli/doctor_fixture.ts";
import { addPeer, get, notify } from "../../../support/daemon/peer_clients.ts";
import { world } from "../../../support/world.ts";

const JOIN = ["machines", "join", "tls://bus.test:4222", "--name", "laptop", "--secret", "new"];
const RENEW = ["machines", "renew-identity", "--name", "twin", "--no-restart"];

Deno.test("a copy gets another id, name and keys, and keeps the secret, its messages and settings", async () => {
  await using at = answeringDaemon({ "GET /health": () => HEALTH });
  const db_path = `${at.dir}/mesh.db`;
  const idAndTexts = async () => {
    await using w = world({ db_path });
    const { messages } = await get(w, "/messages");
    const { daemon_id } = await get(w, "/health");
    return [daemon_id, ...messages.map(({ text }: { text: string }) => text)];
  };
  {
    await using w = world({ db_path });
    await addPeer(w, "bob");
    await notify(w, "ada", "bob", "kept");
  }
  const join = await at.mesh([...JOIN, "--share", "work", "--no-restart"]);
  assert.equal(join.code, 0, join.err);
  const read = (name: string) => Deno.readTextFileSync(`${at.dir}/bus/${name}`);
  const files = () => ["network.secret", "machine.keys", "user.nk"].map(read);
  const [secret, keys, user] = files();
  const [before, ...texts] = await idAndTexts();
  assert.deepEqual(texts, ["kept"]);

  const off = { MESH_DAEMON__PORT: freePort() };
  const { code, out, err } = await at.mesh([...RENEW, "--force"], {}, off);
  assert.equal(code, 0, err);
  const [after, ...left] = await idAndTexts();
  assert.notEqual(after, before);
  assert.deepEqual(left, texts);
  const [same, newKeys, newUser] = files();
  assert.equal(same, secret);
  assert.notEqual(newKeys, keys);
  assert.notEqual(newUser, user);
  assert.match(out, new RegExp(`\\n {2}mesh machines allow U[A-Z2-7]{55} ${after} twin\\n`));
  const config = Deno.readTextFileSync(at.env.MESH_CONFIG);
  assert.match(config, /name: twin\n/);
  assert.match(config, /work/);
});

for (
  const [what, identity_in_use, reason] of [
    [
      "the one that was connected first",
      { this_one: "connected", place: "clone" },
      /connected first and keeps/,
    ],
    ["a machine that is no copy", null, /No other daemon with the identity/],
  ] as const
) {
  Deno.test(`the identity of ${what} is not renewed without --force`, async () => {
    await using at = answeringDaemon({
      "GET /health": () => HEALTH,
      "GET /machines": () => ({ bus: { status: "connected", identity_in_use }, machines: [] }),
    });
    const { code, err } = await at.mesh(RENEW);
    assert.equal(code, 1);
    assert.match(err, reason);
  });
}
