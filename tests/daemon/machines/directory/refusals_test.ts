/** A machine that another one refuses gets a notice with the reason. */

import assert from "node:assert/strict";
import { randomIds } from "kit/core/clock.ts";
import {
  NOTICE_MS,
  REFUSAL_MS_MAX,
} from "../../../../daemon/machines/directory/machine_refusals.ts";
import { sealAnnouncement } from "../../../../daemon/machines/trust/announcement.ts";
import { addPeer } from "../../../support/daemon/peer_clients.ts";
import { type Member, member, NETWORK } from "../../../support/machines/directories.ts";
import { sharedPeer } from "../../../support/machines/remote_peers.ts";
import { makeMachine } from "../../../support/machines/trusted_machines.ts";

/**
 * A machine, and a newcomer that announces itself with any content and records the notices that it
 * gets.
 */
function withNewcomer(content: Record<string, unknown> = {}, name = "buildbox") {
  const a = member({ name: "laptop" });
  const b = member({ name, beside: a.w });
  a.bus.carry = (_to, frame) => b.directory.answer(a.daemon_id, frame);
  const { keys, card } = b;
  return {
    a,
    b,
    announce(more: Record<string, unknown> = {}) {
      const at = new Date(a.w.clock.now()).toISOString();
      const run = "00000000000000b0";
      const entry = { version: 1, at, mesh_version: "1", peers: [], human: null, run, ...content };
      const body = new TextEncoder().encode(JSON.stringify({ ...entry, ...more }));
      const sealed = sealAnnouncement({ card, body }, keys, NETWORK, randomIds);
      a.directory.announced(b.daemon_id, sealed);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await b[Symbol.asyncDispose]();
      await a[Symbol.asyncDispose]();
    },
  };
}

const shown = ({ directory }: Member) =>
  directory.refusals.refused_by.map(({ name, reason }) => `${name}: ${reason}`);

const CASES: Record<string, [Record<string, unknown>, string]> = {
  "whose name is taken": [{}, "name_taken"],
  "whose format is of another version": [{ version: 2 }, "unknown_version"],
  "whose entry cannot be read": [{ peers: "none" }, "malformed"],
};

for (const [what, [content, reason]] of Object.entries(CASES)) {
  Deno.test(`a machine ${what} learns it from the one that refuses it`, async () => {
    await using at = await withNewcomer(content, reason === "name_taken" ? "Laptop" : "buildbox");
    at.announce();
    await at.a.tick();
    assert.deepEqual(shown(at.b), [`laptop: ${reason}`]);
    const [refused] = at.a.directory.refusals.refused;
    assert.deepEqual([refused?.daemon_id, refused?.reason], [at.b.daemon_id, reason]);
    assert.match(at.b.directory.refusals.refused_by[0]?.hint ?? "", /mesh/);
  });
}

Deno.test("a machine learns that some of its peers are left out, as long as they are", async () => {
  await using at = await withNewcomer();
  const { peer_id } = await addPeer(at.a.w, "web");
  at.announce({ peers: [{ ...sharedPeer("forged", "e5"), peer_id }] });
  await at.a.tick();
  assert.deepEqual(shown(at.b), ["laptop: peer_id_taken"]);
  await at.a.tick();
  at.announce({ revision: 1 });
  assert.deepEqual(at.a.directory.refusals.refused, []);
});

Deno.test("a refusal is sent once a minute, and is over when it is no longer sent", async () => {
  await using at = await withNewcomer({}, "laptop");
  for (let second = 0; second < 2 * NOTICE_MS / 1000; second += 10) {
    at.announce();
    await at.a.tick(10);
  }
  assert.equal(at.a.bus.calls.length, 2);
  assert.deepEqual(shown(at.b), ["laptop: name_taken"]);
  await at.b.tick(REFUSAL_MS_MAX / 1000);
  assert.deepEqual(shown(at.b), []);
  assert.deepEqual(at.a.directory.refusals.refused, []);
});

Deno.test("nobody can say for another machine, or to another one, that it refuses", async () => {
  await using at = await withNewcomer();
  const { a, b } = at;
  const mallory = makeMachine(NETWORK, { name: "mallory" });
  const notice = (to: string) =>
    new TextEncoder().encode(JSON.stringify({ to, reason: "name_taken", detail: "d", hint: "h" }));
  const tell = (from: string, body: Uint8Array, purpose?: "mesh refusal 1") => {
    const { card, keys } = mallory;
    const sealed = sealAnnouncement({ card, body }, keys, NETWORK, randomIds, purpose);
    b.directory.answer(from, Uint8Array.of(4, ...sealed));
  };
  tell(a.daemon_id, notice(b.daemon_id), "mesh refusal 1");
  tell(mallory.daemon_id, notice(a.daemon_id), "mesh refusal 1");
  tell(mallory.daemon_id, notice(b.daemon_id));
  assert.deepEqual(shown(b), []);
  tell(mallory.daemon_id, notice(b.daemon_id), "mesh refusal 1");
  assert.deepEqual(shown(b), ["mallory: name_taken"]);
});

Deno.test("a machine of a version without calls is not called", async () => {
  await using at = await withNewcomer({ run: undefined }, "laptop");
  at.announce();
  await at.a.tick();
  assert.deepEqual(at.a.bus.calls, []);
  assert.equal(at.a.directory.refusals.refused[0]?.reason, "name_taken");
});

Deno.test("junk instead of an entry hides no machine; the entry is requested", async () => {
  await using a = member({ name: "laptop" });
  await using b = member({ name: "buildbox", beside: a.w });
  a.bus.carry = (_to, frame) => b.directory.answer(a.daemon_id, frame);
  await b.tick();
  a.directory.announced(b.daemon_id, new TextEncoder().encode("junk"));
  await b.tick(20);
  a.directory.heard(b.daemon_id, b.bus.beats.at(-1) ?? new Uint8Array());
  await a.tick();
  assert.equal(a.directory.isOnline(b.daemon_id), true);
  assert.deepEqual(a.directory.refusals.refused, []);
});
