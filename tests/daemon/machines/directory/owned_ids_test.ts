/** An id of a peer belongs to the machine that made it, even if another announces it first. */

import assert from "node:assert/strict";
import { randomIds, systemClock } from "kit/core/clock.ts";
import { renewDatabase } from "../../../../daemon/app/membership/renewal.ts";
import { sealAnnouncement } from "../../../../daemon/machines/trust/announcement.ts";
import { isOwnId, ownPeerIds } from "../../../../daemon/features/peers/identity/peer_ids.ts";
import { SharedPeers } from "../../../../daemon/features/peers/remote/shared_peers.ts";
import { restartableWorld } from "../../../support/daemon/restartable.ts";
import { addPeer, ask, get, notify, post } from "../../../support/daemon/peer_clients.ts";
import { type Member, member, NETWORK } from "../../../support/machines/directories.ts";
import { makeMachine } from "../../../support/machines/trusted_machines.ts";

const MALLORY = makeMachine(NETWORK, { name: "mallory" });

const carry = (from: Member, to: Member) =>
  to.directory.received(from.daemon_id, from.entries.at(-1) ?? null);

/** An entry of the hostile machine, or of one of an earlier version. */
function entryOf(at: Member, content: Record<string, unknown>) {
  const made = new Date(at.w.clock.now()).toISOString();
  const entry = { version: 1, at: made, mesh_version: "1.0.0", peers: [], human: null, ...content };
  const body = new TextEncoder().encode(JSON.stringify(entry));
  return sealAnnouncement({ card: MALLORY.card, body }, MALLORY.keys, NETWORK, randomIds);
}

const claimed = (peer_id: string, more: Record<string, unknown> = {}) => ({
  peer_id,
  name: "api",
  circle: "default",
  backend: "claude-code",
  model: null,
  role: "agent",
  status: "online",
  turn_state: "idle",
  description: null,
  folder: null,
  last_seen: null,
  ...more,
});

async function machines() {
  const laptop = member({ name: "laptop" });
  const buildbox = member({ name: "buildbox", beside: laptop.w });
  const { peer_id } = await addPeer(buildbox.w, "api");
  await buildbox.tick();
  return {
    laptop,
    buildbox,
    peer_id,
    names: async () =>
      (await get(laptop.w, "/peers")).peers.map((p: { display_name: string }) => p.display_name),
    async [Symbol.asyncDispose]() {
      await buildbox[Symbol.asyncDispose]();
      await laptop[Symbol.asyncDispose]();
    },
  };
}

const PROOFS: [name: string, more: (proof: string | null) => Record<string, unknown>][] = [
  ["without a proof, as an earlier version does", () => ({})],
  ["with a proof of its own", () => ({ id_proof: "0123456789abcdef01234567" })],
  ["with the proof of the other machine", (proof) => ({ id_proof: proof })],
];

for (const [how, more] of PROOFS) {
  Deno.test(`a machine that announces the id of another machine's peer ${how} does not get it [c11.ids.owned]`, async () => {
    await using at = await machines();
    const { laptop, buildbox, peer_id } = at;
    const [proof] = buildbox.shared.list().map(({ id_proof }) => id_proof);
    const evil = entryOf(laptop, { peers: [claimed(peer_id, more(proof ?? null))] });
    laptop.directory.received(MALLORY.daemon_id, evil);
    assert.deepEqual(await at.names(), ["api@mallory"], "nobody else has announced it yet");
    carry(buildbox, laptop);
    assert.deepEqual(await at.names(), ["api@buildbox"]);
    const [refusal] = laptop.directory.refusals.refused;
    assert.deepEqual([refusal?.daemon_id, refusal?.reason], [MALLORY.daemon_id, "peer_id_taken"]);
    await laptop.w.clock.advance(1000);
    laptop.directory.received(MALLORY.daemon_id, entryOf(laptop, { peers: [claimed(peer_id)] }));
    assert.deepEqual(await at.names(), ["api@buildbox"]);
  });
}

Deno.test("the human's id belongs to its machine as well [c11.ids.owned]", async () => {
  await using at = await machines();
  const { laptop, buildbox } = at;
  const { peer_id } = await addPeer(buildbox.w, "sam", { role: "human" });
  await buildbox.tick(30);
  const human = { peer_id, name: "sam" };
  laptop.directory.received(MALLORY.daemon_id, entryOf(laptop, { human }));
  carry(buildbox, laptop);
  assert.equal(laptop.w.daemon.remotePeers.human(buildbox.daemon_id)?.peer_id, peer_id);
  assert.equal(laptop.w.daemon.remotePeers.human(MALLORY.daemon_id), undefined);
});

Deno.test("machines of earlier versions keep the ids that they announce first [c11.ids.owned]", async () => {
  await using at = await machines();
  const { laptop } = at;
  const old = claimed("peer-0123456789ab", { name: "old" });
  laptop.directory.received(MALLORY.daemon_id, entryOf(laptop, { peers: [old] }));
  carry(at.buildbox, laptop);
  assert.deepEqual((await at.names()).sort(), ["api@buildbox", "old@mallory"]);
});

Deno.test("a proof holds for one machine and one id", () => {
  const [mine, other] = [
    ownPeerIds("dm-1", randomIds).next(),
    ownPeerIds("dm-2", randomIds).next(),
  ];
  assert.match(mine.peer_id, /^peer-[0-9a-f]{12}$/);
  assert.ok(isOwnId("dm-1", mine));
  assert.ok(!isOwnId("dm-2", mine));
  assert.ok(!isOwnId("dm-1", { ...mine, peer_id: other.peer_id }));
  assert.ok(!isOwnId("dm-1", { ...mine, id_proof: null }));
});

Deno.test("with a new identity the peers of a copied machine get new ids, and keep their records [c11.ids.renewed]", async () => {
  using disk = restartableWorld({ settings: { "human.name": "sam" } });
  let before: Record<string, string>;
  {
    await using w = disk.start();
    const api = await addPeer(w, "api"), web = await addPeer(w, "web");
    before = { api: api.peer_id, web: web.peer_id };
    await ask(w, "web", "api", "Ready?");
    await notify(w, "api", "sam", "Done");
    await post(w, "/jobs", { created_by: "web", assigned_peer: "api", prompt: "x" });
    const fire_at = new Date(w.clock.now() + 86_400_000).toISOString();
    await post(w, "/schedules", { from_peer: "api", to_peer: "web", text: "Later", fire_at });
  }
  renewDatabase(disk.db_path, { clock: systemClock, ids: randomIds });
  await using w = disk.start();
  const { peers } = await get(w, "/peers");
  const ids = new Map<string, string>(
    peers.map((p: { name: string; peer_id: string }) => [p.name, p.peer_id]),
  );
  assert.equal(ids.size, 3);
  assert.ok([...ids.values()].every((id) => !Object.values(before).includes(id)));
  const { daemon_id } = await get(w, "/health");
  const { ctx, directory, waits } = w.daemon;
  const shared = new SharedPeers(ctx, { directory, circles: ["*"], description_ttl_ms: 0, waits });
  for (const peer of shared.list()) assert.ok(isOwnId(daemon_id, peer), peer.name);
  const [open] = (await get(w, "/asks?state=open")).asks;
  assert.deepEqual([open.from_peer_id, open.to_peer_id], [ids.get("web"), ids.get("api")]);
  const { work } = await get(w, "/jobs?view=full");
  assert.deepEqual(
    [work[0].created_by_peer_id, work[0].execution.target.assigned_peer_id],
    [ids.get("web"), ids.get("api")],
  );
  assert.equal((await get(w, "/schedules")).schedules[0].from_peer_id, ids.get("api"));
  assert.equal((await get(w, "/inbox")).items[0].from_peer_id, ids.get("api"));
  assert.equal((await get(w, `/messages?peer=${before["api"]}`)).messages.length, 0);
});
