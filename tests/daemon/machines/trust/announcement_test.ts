import assert from "node:assert/strict";
import fc from "fast-check";
import { randomIds } from "kit/core/clock.ts";
import {
  openAnnouncement,
  sealAnnouncement,
} from "../../../../daemon/machines/trust/announcement.ts";
import { seal } from "../../../../daemon/machines/trust/sealing.ts";
import {
  makeMachine,
  makeNetwork,
  someBytes,
  someDamage,
  type TrustedMachine,
} from "../../../support/machines/trusted_machines.ts";

const NETWORK = makeNetwork();
const [A, B] = [makeMachine(NETWORK), makeMachine(NETWORK)];
const BODY = new TextEncoder().encode('{"peers":\n[]}');

const announce = ({ card, keys }: TrustedMachine, body = BODY) =>
  sealAnnouncement({ card, body }, keys, NETWORK, randomIds);

Deno.test("every machine of the network opens an announcement, with the card of its maker", () => {
  fc.assert(fc.property(someBytes, (body) => {
    const announcement = openAnnouncement(A.daemon_id, NETWORK, announce(A, body));
    assert.deepEqual(announcement, { card: A.card, body });
  }));
});

Deno.test("another network cannot open an announcement", () => {
  assert.equal(openAnnouncement(A.daemon_id, makeNetwork(), announce(A)), null);
});

Deno.test("an announcement under the id of another machine is refused", () => {
  assert.equal(openAnnouncement(B.daemon_id, NETWORK, announce(A)), null);
});

Deno.test("a member of the network cannot announce with the card of another machine", () => {
  const forged = sealAnnouncement({ card: A.card, body: BODY }, B.keys, NETWORK, randomIds);
  assert.equal(openAnnouncement(A.daemon_id, NETWORK, forged), null);
});

Deno.test("a damaged announcement is refused", () => {
  fc.assert(fc.property(someDamage, (damage) => {
    assert.equal(openAnnouncement(A.daemon_id, NETWORK, damage(announce(A))), null);
  }));
});

Deno.test("random bytes, sealed by a member or not, never open and never throw", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 500 }), (bytes) => {
    assert.equal(openAnnouncement(A.daemon_id, NETWORK, bytes), null);
    const sealed = seal(NETWORK.directory_key, "mesh directory 1", bytes, randomIds);
    assert.equal(openAnnouncement(A.daemon_id, NETWORK, sealed), null);
  }));
});
